# attune_find_halide(): finds Halide 21, where CMAKE_PREFIX_PATH or Halide_DIR say, or else as a Python package
# (`pip install halide==21.0.0`) in the project's .venv or of the python3 in PATH. The wheel keeps its CMake files under lib64,
# where CMake doesn't look on Debian, so Python is asked for the place.
#
# The imported targets are known in the calling directory and below; the path of Halide's headers is kept for all.
include_guard(GLOBAL)

function(attune_find_halide)
    find_program(
        ATTUNE_PYTHON
        NAMES python3
        HINTS "${CMAKE_SOURCE_DIR}/.venv/bin"
        DOC "The Python whose halide package is used where CMake finds no other Halide"
    )
    set(wheel)
    if(ATTUNE_PYTHON)
        set(locate "import importlib.util as u; s = u.find_spec('halide'); print(s.submodule_search_locations[0] if s else '')")
        execute_process(
            COMMAND "${ATTUNE_PYTHON}" -c "${locate}"
            OUTPUT_VARIABLE wheel
            OUTPUT_STRIP_TRAILING_WHITESPACE
        )
    endif()
    # Its Python bindings look for Python's headers, which nothing here needs.
    set(CMAKE_DISABLE_FIND_PACKAGE_Halide_Python TRUE)
    find_package(Halide 21 QUIET COMPONENTS Halide HINTS "${wheel}/lib64/cmake/Halide")
    if(NOT Halide_FOUND)
        message(
            FATAL_ERROR
            "Generating kernels needs Halide 21, and CMake finds none: `pip install halide==21.0.0` for the python3 in PATH "
            "(now ${ATTUNE_PYTHON}), or set Halide_DIR to the folder of HalideConfig.cmake."
        )
    endif()
    get_target_property(include Halide::Runtime INTERFACE_INCLUDE_DIRECTORIES)
    set_property(GLOBAL PROPERTY ATTUNE_HALIDE_INCLUDE "${include}")
endfunction()
