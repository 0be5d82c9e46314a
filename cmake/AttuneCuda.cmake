# attune_find_ptxas(): sets the cache entry ATTUNE_PTXAS to NVIDIA's assembler, of the Python package in requirements-cuda.txt or else of a
# CUDA toolkit. Without one kernels for CUDA hold their PTX alone, which the driver compiles when they first run.
include_guard(GLOBAL)

function(attune_find_ptxas)
    set(packages)
    if(ATTUNE_PYTHON)
        set(locate "import importlib.util as u; s = u.find_spec('nvidia'); print(*(s.submodule_search_locations if s else []), sep=';')")
        execute_process(COMMAND "${ATTUNE_PYTHON}" -c "${locate}" OUTPUT_VARIABLE packages OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
    list(TRANSFORM packages APPEND "/cuda_nvcc/bin")
    find_program(ATTUNE_PTXAS ptxas HINTS ${packages} PATHS /usr/local/cuda/bin DOC "NVIDIA's assembler; without it kernels for CUDA hold PTX alone")
    if(NOT ATTUNE_PTXAS)
        message(STATUS "No ptxas found: kernels for CUDA hold PTX alone, and the driver compiles them when they first run. "
            "`pip install -r requirements-cuda.txt` brings one.")
    endif()
endfunction()
