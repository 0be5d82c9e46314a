# What code for CUDA is assembled and looked into with: of the Python packages in requirements-cuda.txt, or else of a CUDA toolkit.
include_guard(GLOBAL)

# Sets `out` to the folders of NVIDIA's Python packages.
function(_attune_nvidia_packages out)
    set(packages)
    if(ATTUNE_PYTHON)
        set(locate "import importlib.util as u; s = u.find_spec('nvidia'); print(*(s.submodule_search_locations if s else []), sep=';')")
        execute_process(COMMAND "${ATTUNE_PYTHON}" -c "${locate}" OUTPUT_VARIABLE packages OUTPUT_STRIP_TRAILING_WHITESPACE)
    endif()
    set(${out} ${packages} PARENT_SCOPE)
endfunction()

# Sets the cache entry ATTUNE_PTXAS to NVIDIA's assembler, the first time it is called. Without one kernels for CUDA hold their PTX alone,
# which the driver compiles when they first run.
function(attune_find_ptxas)
    get_property(sought GLOBAL PROPERTY ATTUNE_PTXAS_SOUGHT)
    if(sought)
        return()
    endif()
    set_property(GLOBAL PROPERTY ATTUNE_PTXAS_SOUGHT TRUE)
    _attune_nvidia_packages(packages)
    list(TRANSFORM packages APPEND "/cuda_nvcc/bin")
    find_program(ATTUNE_PTXAS ptxas HINTS ${packages} PATHS /usr/local/cuda/bin DOC "NVIDIA's assembler; without it kernels for CUDA hold PTX alone")
    if(NOT ATTUNE_PTXAS)
        message(STATUS "No ptxas found: kernels for CUDA hold PTX alone, and the driver compiles them when they first run. "
            "`pip install -r requirements-cuda.txt` brings one.")
    endif()
endfunction()

# Sets the cache entry ATTUNE_NVDISASM to NVIDIA's disassembler, which only tests need.
function(attune_find_nvdisasm)
    _attune_nvidia_packages(packages)
    list(TRANSFORM packages APPEND "/cu13/bin")
    find_program(ATTUNE_NVDISASM nvdisasm HINTS ${packages} PATHS /usr/local/cuda/bin DOC "NVIDIA's disassembler, for the tests' figures of machine code")
endfunction()
