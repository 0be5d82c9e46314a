# How a Halide generator's output becomes objects that link beside any other Halide library: every symbol that Halide's runtime
# defines is renamed, in the runtime and in each kernel, with the prefix attune_.
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/AttuneCuda.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/AttuneHalide.cmake")

# The CPU classes, the best one first, as attune_cpu_class() names them.
set_property(GLOBAL PROPERTY ATTUNE_CPU_CLASSES avx512_zen5 avx512_bf16 avx512_amx avx512 avx2 x86-64)

# Sets `out` to an element type as Halide spells it: float32, float16 or bfloat16.
function(_attune_halide_type out dtype)
    string(REGEX REPLACE "^(b?)f([0-9]+)$" "\\1float\\2" type "${dtype}")
    set(${out} ${type} PARENT_SCOPE)
endfunction()

# Sets `out` to the Halide targets of CPU classes, separated by commas. The list is as long as what kernels are tuned for:
# Halide picks the first whose features the CPU has.
function(_attune_target_strings out)
    set(avx2 x86-64-linux-sse41-avx-f16c-fma-avx2)
    set(avx512 ${avx2}-avx512-avx512_skylake)
    # For Zen 4 and 5 and Sapphire Rapids. Halide's own name for the last has AMX and half precision, which Zen has not.
    set(avx512_bf16 ${avx512}-avx512_cannonlake-avx512_zen4)
    set(avx512_zen5 ${avx512_bf16}-avx512_zen5)
    set(avx512_amx ${avx512}-avx512_cannonlake-avx512_sapphirerapids)
    set(x86-64 x86-64-linux)
    set(strings)
    foreach(class IN LISTS ARGN)
        list(APPEND strings ${${class}})
    endforeach()
    list(JOIN strings "," joined)
    set(${out} "${joined}" PARENT_SCOPE)
endfunction()

# Runs generator GENERATOR of EXECUTABLE once for all TARGETS (CPU classes). Sets `objects` to the objects it makes: one for each
# target and, where there are several, the wrapper that picks among them. The header is DIRECTORY/NAME.h.
function(_attune_generate objects)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;EXECUTABLE;GENERATOR;DIRECTORY" "TARGETS;PARAMETERS")
    _attune_target_strings(targets ${arg_TARGETS})
    string(REPLACE "," ";" targets "${targets}")
    list(TRANSFORM targets APPEND -user_context-large_buffers-no_runtime)

    set(parts ${targets})
    list(TRANSFORM parts PREPEND "${arg_NAME}-")
    list(APPEND parts ${arg_NAME}_wrapper)
    list(LENGTH targets count)
    if(count EQUAL 1)
        set(parts ${arg_NAME})
    endif()

    get_property(symbols GLOBAL PROPERTY ATTUNE_RUNTIME_SYMBOLS)
    set(raw "${arg_DIRECTORY}/${arg_NAME}.generated")
    set(outputs)
    set(rename)
    foreach(part IN LISTS parts)
        list(APPEND outputs "${arg_DIRECTORY}/${part}.o")
        list(APPEND rename COMMAND "${CMAKE_OBJCOPY}" "--redefine-syms=${symbols}" "${raw}/${part}.o" "${arg_DIRECTORY}/${part}.o")
    endforeach()
    list(JOIN targets "," targets)
    add_custom_command(
        OUTPUT ${outputs} "${arg_DIRECTORY}/${arg_NAME}.h"
        COMMAND "${CMAKE_COMMAND}" -E make_directory "${raw}"
        COMMAND
            ${arg_EXECUTABLE} -g ${arg_GENERATOR} -f ${arg_NAME} -n ${arg_NAME} -o "${raw}" -e object,c_header "target=${targets}"
            ${arg_PARAMETERS}
        COMMAND "${CMAKE_COMMAND}" -E copy "${raw}/${arg_NAME}.h" "${arg_DIRECTORY}/${arg_NAME}.h"
        ${rename}
        COMMAND "${CMAKE_COMMAND}" -E rm -r "${raw}"
        DEPENDS "${symbols}" ${arg_EXECUTABLE}
        COMMENT "Generating ${arg_NAME}"
        VERBATIM
    )
    set(${objects} ${outputs} PARENT_SCOPE)
endfunction()

# Runs generator GENERATOR of EXECUTABLE for CUDA. Sets `objects` to the object it makes, with code for all ARCHITECTURES (numbers, lowest first). STAGES:
# blocks of keys in shared memory at once (dsl::FragmentBlocking). The header is DIRECTORY/NAME.h, the PTX DIRECTORY/NAME.ptx.
function(_attune_generate_cuda objects)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;EXECUTABLE;GENERATOR;DIRECTORY;STAGES" "ARCHITECTURES;PARAMETERS")
    get_property(symbols GLOBAL PROPERTY ATTUNE_RUNTIME_SYMBOLS)
    set(raw "${arg_DIRECTORY}/${arg_NAME}.generated")
    list(JOIN arg_ARCHITECTURES "," architectures)
    # Halide knows no capability above 8.6. The kernels check nothing: the runtime has checked every argument.
    set(capability cuda_capability_86)
    if(arg_ARCHITECTURES MATCHES "^75")
        set(capability cuda_capability_75)
    endif()
    set(assemble "")
    if(ATTUNE_PTXAS)
        set(assemble -p "${ATTUNE_PTXAS}")
    endif()
    add_custom_command(
        OUTPUT "${arg_DIRECTORY}/${arg_NAME}.o" "${arg_DIRECTORY}/${arg_NAME}.h" "${arg_DIRECTORY}/${arg_NAME}.ptx" "${arg_DIRECTORY}/${arg_NAME}.json"
        COMMAND "${CMAKE_COMMAND}" -E make_directory "${raw}"
        COMMAND
            ${arg_EXECUTABLE} -g ${arg_GENERATOR} -f ${arg_NAME} -o "${raw}" -a ${architectures} -s ${arg_STAGES} ${assemble}
            target=x86-64-linux-cuda-${capability}-user_context-no_asserts-no_bounds_query-no_runtime ${arg_PARAMETERS}
        COMMAND "${CMAKE_COMMAND}" -E copy "${raw}/${arg_NAME}.h" "${raw}/${arg_NAME}.ptx" "${raw}/${arg_NAME}.json" "${arg_DIRECTORY}"
        COMMAND "${CMAKE_OBJCOPY}" "--redefine-syms=${symbols}" "${raw}/${arg_NAME}.o" "${arg_DIRECTORY}/${arg_NAME}.o"
        COMMAND "${CMAKE_COMMAND}" -E rm -r "${raw}"
        DEPENDS "${symbols}" ${arg_EXECUTABLE}
        COMMENT "Generating ${arg_NAME}"
        VERBATIM
    )
    set(${objects} "${arg_DIRECTORY}/${arg_NAME}.o" PARENT_SCOPE)
endfunction()

# Sets `out` to what code a kernel has: "sm_80,sm_90,compute_80", or its PTX alone where there is no ptxas.
function(_attune_cuda_targets out)
    list(GET ARGN 0 lowest)
    set(targets ${ARGN})
    list(TRANSFORM targets PREPEND sm_)
    if(NOT ATTUNE_PTXAS)
        set(targets "")
    endif()
    list(APPEND targets compute_${lowest})
    list(JOIN targets "," joined)
    set(${out} "${joined}" PARENT_SCOPE)
endfunction()

# Sets `generator` to the one that makes attention for CUDA by a schedule, `parameters` to its parameters beside the schedule, `stages` as
# _attune_generate_cuda takes them, and `words` to the channels in a word of q, k and v, or 0.
function(_attune_cuda_attention_arguments schedule head_dim dtype)
    set(generator attention_simt)
    _attune_halide_type(type ${dtype})
    set(parameters head_dim=${head_dim} dtype=${type})
    set(stages 1)
    set(words 0)
    if(NOT schedule STREQUAL "simt" AND NOT dtype STREQUAL "f32")
        set(generator attention_mma)
        set(parameters head_dim=${head_dim} bfloat=false)
        if(dtype STREQUAL "bf16")
            set(parameters head_dim=${head_dim} bfloat=true)
        endif()
        set(stages 2)
        set(words 2)
    endif()
    foreach(result generator parameters stages words)
        set(${result} ${${result}} PARENT_SCOPE)
    endforeach()
endfunction()

# Makes the programs that write kernels targets: they are so in Attune's own tree, and after find_package are built from the
# sources it installs.
function(_attune_provide_generator)
    if(TARGET attune_generator)
        return()
    endif()
    if(NOT CMAKE_CXX_COMPILER_LOADED)
        message(FATAL_ERROR "attune_add_kernel compiles a generator from C++: add CXX to the LANGUAGES of project().")
    endif()
    attune_find_halide()
    get_property(sources GLOBAL PROPERTY ATTUNE_GENERATOR_SOURCES)
    add_subdirectory("${sources}" "${CMAKE_BINARY_DIR}/attune_generator" EXCLUDE_FROM_ALL SYSTEM)
endfunction()
