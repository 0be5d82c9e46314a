# attune_add_kernel: a kernel of your own, as a static library. Works the same after find_package(attune) and after
# add_subdirectory(attune).
#
#   attune_add_kernel(my_attention MASK "causal & window(512, 0)" HEAD_DIM 128)
#   target_link_libraries(my_program PRIVATE my_attention attune::attune)
#
# The library holds the C function my_attention(), declared in my_attention.h in Halide's calling convention, and a descriptor,
# `const attune_kernel my_attention_kernel`, declared in my_attention_kernel.h, which attune_attention_desc::kernel takes.
# It brings attune::halide_runtime, and needs attune::attune only where the descriptor is handed to a plan.
#
#   MASK text         mask compiled in; names in it become run-time parameters (attune_attention_args::params)
#   SCORE text        what becomes of the scaled scores, compiled in: "softcap(30) alibi"; none by default
#   POSITION text     how positions enter q and k, compiled in: "rotary(half, base=500000)"; none by default
#   SOURCE file.cpp   instead of MASK: a C++ source that registers a Halide generator, for a mask or a score written as a lambda
#   GENERATOR name    the generator's name in SOURCE; NAME by default
#   PARAMS names...   the names of the run-time parameters that SOURCE reads, as params(0), params(1), ...
#   HEAD_DIM n        D, the width of queries and keys; 0 for any
#   VALUE_DIM n       Dv, the width of values; HEAD_DIM by default
#   DTYPE type        of q, k, v and out: f32 (default), f16 or bf16
#   DEVICE name       cpu (default), or cuda, for plans of ATTUNE_CUDA
#   SCHEDULE name     flash (default), flash_bf16x3, flash_bf16x2, materialized or reference, for any number of queries: only among prebuilt
#                     kernels does a plan change to `decode`, which is faster for few. On cuda simt, mma (f16, bf16), wgmma (likewise) or
#                     split_kv, by default mma for f16 and bf16 of a width that tensor cores have kernels for, simt otherwise
#   ARCHITECTURES numbers...  on cuda: compute capabilities there is machine code for, 80 90; by default those of the prebuilt kernels,
#                     75 80 86 89 90, of them from 80 on for tensor cores, and 90a alone for wgmma. Without NVIDIA's ptxas the kernel holds
#                     PTX for the lowest alone, which the driver compiles when it first runs, and CMake says so
#   TARGETS names...  CPU classes, best first, the last one x86-64, which runs unchecked: avx512 avx2 x86-64 by default, and for bf16
#                     avx512_amx avx512_bf16 before them, by flash_bf16x3 and flash_bf16x2 avx512_amx
#
# On cuda HEAD_DIM is the width of values, too: of kernels for tensor cores 64, 96, 128, 192 or 256, of others up to 256, or 0. There is no
# POSITION, the term `blocks` and the score `t5` can't be compiled in, and by split_kv a mask must be the same for all heads.
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/AttuneGenerate.cmake")

function(attune_add_kernel NAME)
    set(single MASK SCORE POSITION SOURCE GENERATOR HEAD_DIM VALUE_DIM DTYPE DEVICE SCHEDULE)
    set(several PARAMS TARGETS ARCHITECTURES)
    # Of a variable that was never set, say. Before policy CMP0174 cmake_parse_arguments takes the keyword for one that isn't given: instead of
    # a mask there would be none.
    set(keyword NAME)
    set(given)
    foreach(place RANGE ${ARGC})
        if(place LESS ARGC AND "${ARGV${place}}" STREQUAL "")
            message(FATAL_ERROR "attune_add_kernel(${NAME}): an empty value follows ${keyword}; leave out what isn't wanted.")
        endif()
        set(keyword "${ARGV${place}}")
        # Of values that are given twice the last one would hold.
        if(place GREATER 0 AND keyword IN_LIST single)
            if(keyword IN_LIST given)
                message(FATAL_ERROR "attune_add_kernel(${NAME}): ${keyword} is given twice.")
            endif()
            list(APPEND given "${keyword}")
        endif()
    endforeach()
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "${single}" "${several}")
    _attune_default(VALUE_DIM "${arg_HEAD_DIM}")
    _attune_default(SCORE none)
    _attune_default(POSITION none)
    _attune_default(DTYPE f32)
    _attune_default(DEVICE cpu)
    if(NOT DEFINED arg_SOURCE)
        _attune_default(MASK none)
    endif()
    foreach(text MASK SCORE POSITION)
        if(DEFINED arg_${text}) # makefiles have no place for lines in a command
            string(REGEX REPLACE "[\r\n\t]" " " arg_${text} "${arg_${text}}")
        endif()
    endforeach()
    _attune_check_kernel()
    _attune_default(GENERATOR ${NAME})
    _attune_provide_generator()
    set(dir "${CMAKE_CURRENT_BINARY_DIR}/${NAME}.attune")
    if(arg_DEVICE STREQUAL "cuda")
        _attune_make_cuda_kernel()
    else()
        _attune_make_cpu_kernel()
    endif()
    add_custom_command(
        OUTPUT "${dir}/${NAME}_kernel.cpp" "${dir}/${NAME}_kernel.h"
        # Ninja makes the folders of outputs, and make doesn't.
        COMMAND "${CMAKE_COMMAND}" -E make_directory "${dir}"
        COMMAND
            attune_describe "${dir}" ${NAME} ${arg_SCHEDULE} "${targets}" ${arg_DTYPE} ${arg_HEAD_DIM} ${arg_VALUE_DIM} ${arg_DEVICE} ${words}
            "${arg_MASK}" "${arg_SCORE}" "${arg_POSITION}" ${arg_PARAMS}
        DEPENDS attune_describe
        COMMENT "Describing ${NAME}"
        VERBATIM
    )

    add_library(${NAME} STATIC ${objects} "${dir}/${NAME}_kernel.cpp" "${dir}/${NAME}_kernel.h" "${dir}/${NAME}.h")
    target_compile_features(${NAME} PUBLIC cxx_std_17)
    set_target_properties(${NAME} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${NAME} PUBLIC attune::halide_runtime)
    target_include_directories(${NAME} PUBLIC "${dir}" "$<TARGET_PROPERTY:attune::attune,INTERFACE_INCLUDE_DIRECTORIES>")
    get_property(halide_include GLOBAL PROPERTY ATTUNE_HALIDE_INCLUDE)
    target_include_directories(${NAME} SYSTEM PUBLIC "${halide_include}")
endfunction()

# The two below set `objects`, `targets` and `words`, and read the arguments of attune_add_kernel from its scope.
macro(_attune_make_cpu_kernel)
    set(words 0)
    set(parameters schedule=${arg_SCHEDULE} head_dim=${arg_HEAD_DIM} value_dim=${arg_VALUE_DIM})
    _attune_halide_type(type ${arg_DTYPE})
    list(APPEND parameters dtype=${type})
    _attune_choose_generator(attention attune_attention_generator attune_generator_support)
    _attune_generate(
        objects
        NAME ${NAME}
        EXECUTABLE ${executable}
        GENERATOR ${generator}
        DIRECTORY "${dir}"
        TARGETS ${arg_TARGETS}
        PARAMETERS ${parameters}
    )
    _attune_target_strings(targets ${arg_TARGETS})
endmacro()

macro(_attune_make_cuda_kernel)
    attune_find_ptxas()
    _attune_cuda_attention_arguments(${arg_SCHEDULE} ${arg_HEAD_DIM} ${arg_DTYPE})
    list(APPEND parameters schedule=${arg_SCHEDULE} own=true)
    set(family SIMT)
    if(words GREATER 0)
        set(family FRAGMENTS)
    endif()
    _attune_choose_generator(${generator} attune_cuda_attention_generator attune_cuda_generator_support ATTUNE_CUDA_${family})
    _attune_generate_cuda(
        objects
        NAME ${NAME}
        EXECUTABLE ${executable}
        GENERATOR ${generator}
        DIRECTORY "${dir}"
        STAGES ${stages}
        ARCHITECTURES ${arg_ARCHITECTURES}
        PARAMETERS ${parameters}
    )
    _attune_cuda_targets(targets ${arg_ARCHITECTURES})
endmacro()

# Sets `executable` and `generator` to those given, or to ones made of SOURCE, and appends to `parameters` the texts, or how many
# PARAMS there are. ARGN: definitions that say for which device a source is compiled.
macro(_attune_choose_generator usual usual_executable support)
    set(executable ${usual_executable})
    set(generator ${usual})
    if(DEFINED arg_SOURCE)
        set(executable ${NAME}_generator)
        set(generator ${arg_GENERATOR})
        list(LENGTH arg_PARAMS count)
        list(APPEND parameters param_count=${count})
        add_library(${executable}_objects OBJECT EXCLUDE_FROM_ALL ${arg_SOURCE})
        set_target_properties(${executable}_objects PROPERTIES POSITION_INDEPENDENT_CODE ON PCH_WARN_INVALID OFF)
        target_compile_definitions(${executable}_objects PRIVATE ${ARGN})
        target_link_libraries(${executable}_objects PRIVATE ${support})
        # Position-independent, as attune_dsl, it can do with the Halide.h that was compiled for that. Where a project's flags differ, GCC reads
        # it anew; Clang would refuse it.
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            target_precompile_headers(${executable}_objects REUSE_FROM attune_dsl)
        endif()
        add_executable(${executable} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${executable}_objects>)
        target_link_libraries(${executable} PRIVATE ${support})
    else()
        _attune_text_parameter(MASK)
    endif()
    foreach(text SCORE POSITION)
        if(NOT arg_${text} STREQUAL "none")
            _attune_text_parameter(${text})
        endif()
    endforeach()
endmacro()

macro(_attune_default key)
    if(NOT DEFINED arg_${key})
        set(arg_${key} ${ARGN})
    endif()
endmacro()

# Appends mask=..., score=... or position=... to `parameters`. Halide cuts parameters at every "=", so ":" stands for it in the text.
macro(_attune_text_parameter key)
    string(TOLOWER ${key} name)
    string(REPLACE "=" ":" value "${arg_${key}}")
    list(APPEND parameters "${name}=${value}")
endmacro()

# Refuses at configure time what can't work, and chooses what depends on the device. Reads the arguments of attune_add_kernel from its scope.
macro(_attune_check_kernel)
    set(call "attune_add_kernel(${NAME})")
    if(NOT "${NAME}" MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
        message(FATAL_ERROR "${call}: the name must be a C identifier.")
    endif()
    if(arg_UNPARSED_ARGUMENTS)
        list(JOIN single ", " known)
        list(JOIN several ", " more)
        list(GET arg_UNPARSED_ARGUMENTS 0 unknown)
        message(FATAL_ERROR "${call}: \"${unknown}\" is no argument of it; there are: ${known}, ${more}.")
    endif()
    if(arg_KEYWORDS_MISSING_VALUES)
        message(FATAL_ERROR "${call}: no value follows ${arg_KEYWORDS_MISSING_VALUES}.")
    endif()
    if(NOT DEFINED arg_HEAD_DIM)
        message(FATAL_ERROR "${call}: HEAD_DIM is missing; it is the width of queries and keys, or 0 for any.")
    endif()
    foreach(key HEAD_DIM VALUE_DIM)
        if(NOT arg_${key} MATCHES "^(0|[1-9][0-9]*)$")
            message(FATAL_ERROR "${call}: ${key} is \"${arg_${key}}\"; it must be a whole number, or 0 for any.")
        endif()
        if(arg_${key} GREATER 4096) # whose loops take minutes to compile
            message(FATAL_ERROR "${call}: ${key} is ${arg_${key}}; it must be at most 4096, or 0 for any.")
        endif()
    endforeach()
    foreach(key IN LISTS single)
        if("${arg_${key}}" MATCHES ";")
            message(FATAL_ERROR "${call}: ${key} is \"${arg_${key}}\"; it must be one value, and no list of them.")
        endif()
    endforeach()
    if(DEFINED arg_SOURCE AND DEFINED arg_MASK)
        message(FATAL_ERROR "${call}: MASK and SOURCE exclude each other; a kernel from SOURCE has its mask written there.")
    endif()
    if(DEFINED arg_GENERATOR AND NOT DEFINED arg_SOURCE)
        message(FATAL_ERROR "${call}: GENERATOR goes with SOURCE; it names what is registered there.")
    endif()
    if(DEFINED arg_PARAMS AND NOT DEFINED arg_SOURCE)
        message(FATAL_ERROR "${call}: PARAMS goes with SOURCE; names in MASK are parameters as they stand.")
    endif()
    foreach(name IN LISTS arg_PARAMS)
        if(NOT name MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
            message(FATAL_ERROR "${call}: PARAMS has \"${name}\"; each must be a C identifier.")
        endif()
    endforeach()
    _attune_check_distinct(PARAMS ${arg_PARAMS})
    _attune_check_known(DTYPE "${arg_DTYPE}" "" f32 f16 bf16)
    _attune_check_known(DEVICE "${arg_DEVICE}" "" cpu cuda)
    if(arg_DEVICE STREQUAL "cuda")
        _attune_check_cuda_kernel()
    else()
        _attune_check_cpu_kernel()
    endif()
endmacro()

macro(_attune_check_cpu_kernel)
    if(DEFINED arg_ARCHITECTURES)
        message(FATAL_ERROR "${call}: ARCHITECTURES goes with DEVICE cuda; for CPUs there are TARGETS.")
    endif()
    _attune_default(SCHEDULE flash)
    if(arg_DTYPE STREQUAL "bf16")
        _attune_default(TARGETS avx512_amx avx512_bf16 avx512 avx2 x86-64)
    endif()
    if(arg_SCHEDULE MATCHES "^flash_bf16x[23]$")
        _attune_default(TARGETS avx512_amx avx512 avx2 x86-64)
    endif()
    _attune_default(TARGETS avx512 avx2 x86-64)
    get_property(schedules GLOBAL PROPERTY ATTUNE_ATTENTION_SCHEDULES)
    list(REMOVE_DUPLICATES schedules)
    _attune_check_known(SCHEDULE "${arg_SCHEDULE}" "" ${schedules})
    get_property(classes GLOBAL PROPERTY ATTUNE_CPU_CLASSES)
    foreach(target IN LISTS arg_TARGETS)
        _attune_check_known(TARGETS "${target}" "" ${classes})
    endforeach()
    _attune_check_distinct(TARGETS ${arg_TARGETS})
    _attune_check_order(${arg_TARGETS})
    list(GET arg_TARGETS -1 last)
    if(NOT last STREQUAL "x86-64")
        message(FATAL_ERROR "${call}: the last of TARGETS is ${last}; it must be x86-64, since the last one runs unchecked.")
    endif()
endmacro()

macro(_attune_check_cuda_kernel)
    if(DEFINED arg_TARGETS)
        message(FATAL_ERROR "${call}: TARGETS goes with DEVICE cpu; on cuda there are ARCHITECTURES.")
    endif()
    if(NOT arg_POSITION STREQUAL "none")
        message(FATAL_ERROR "${call}: POSITION is \"${arg_POSITION}\"; on cuda none can be compiled in: attune_rotary applies one to q and k beforehand.")
    endif()
    if(NOT arg_VALUE_DIM STREQUAL arg_HEAD_DIM)
        message(FATAL_ERROR "${call}: VALUE_DIM is ${arg_VALUE_DIM}; on cuda it must be HEAD_DIM, ${arg_HEAD_DIM}.")
    endif()
    set(schedules mma wgmma split_kv simt)
    set(tensor_core_widths 64 96 128 192 256)
    set(usual mma)
    if(arg_DTYPE STREQUAL "f32")
        set(schedules simt split_kv)
    endif()
    if(arg_DTYPE STREQUAL "f32" OR NOT arg_HEAD_DIM IN_LIST tensor_core_widths)
        set(usual simt)
    endif()
    _attune_default(SCHEDULE ${usual})
    _attune_check_known(SCHEDULE "${arg_SCHEDULE}" " on cuda, with DTYPE ${arg_DTYPE}," ${schedules})
    set(known_architectures 75 80 86 87 89 90)
    set(usual_architectures 75 80 86 89 90)
    if(arg_SCHEDULE STREQUAL "wgmma")
        set(known_architectures 90a)
        set(usual_architectures 90a)
    elseif(NOT arg_SCHEDULE STREQUAL "simt" AND NOT arg_DTYPE STREQUAL "f32")
        list(REMOVE_ITEM known_architectures 75)
        list(REMOVE_ITEM usual_architectures 75)
    endif()
    _attune_default(ARCHITECTURES ${usual_architectures})
    _attune_check_distinct(ARCHITECTURES ${arg_ARCHITECTURES})
    foreach(architecture IN LISTS arg_ARCHITECTURES)
        _attune_check_known(ARCHITECTURES "${architecture}" " with SCHEDULE ${arg_SCHEDULE}" ${known_architectures})
    endforeach()
    list(SORT arg_ARCHITECTURES COMPARE NATURAL)
    _attune_check_cuda_width()
endmacro()

macro(_attune_check_cuda_width)
    if(arg_SCHEDULE STREQUAL "simt" OR arg_DTYPE STREQUAL "f32")
        if(arg_HEAD_DIM GREATER 256)
            message(FATAL_ERROR "${call}: HEAD_DIM is ${arg_HEAD_DIM}; on cuda it must be at most 256.")
        endif()
    else()
        _attune_check_known(HEAD_DIM "${arg_HEAD_DIM}" " with SCHEDULE ${arg_SCHEDULE}" ${tensor_core_widths})
    endif()
endmacro()

# Refuses a value that is none of ARGN. `when`: " where they are these", or "".
function(_attune_check_known key value when)
    if(NOT value IN_LIST ARGN)
        list(JOIN ARGN ", " known)
        message(FATAL_ERROR "${call}: ${key} is \"${value}\";${when} it must be one of: ${known}.")
    endif()
endfunction()

# Refuses a value of ARGN that is there twice.
function(_attune_check_distinct key)
    set(before)
    foreach(value IN LISTS ARGN)
        if(value IN_LIST before)
            message(FATAL_ERROR "${call}: ${key} has ${value} twice.")
        endif()
        list(APPEND before "${value}")
    endforeach()
endfunction()

# Refuses CPU classes ARGN of which one would never run: the first that the CPU has is taken. No CPU has both of the first two.
function(_attune_check_order)
    set(avx512_zen5 1)
    set(avx512_amx 1)
    set(avx512_bf16 2)
    set(avx512 3)
    set(avx2 4)
    set(x86-64 5)
    set(rank 0)
    foreach(class IN LISTS ARGN)
        if(${${class}} LESS rank)
            message(FATAL_ERROR "${call}: TARGETS has ${before} before ${class}, which would never run; the best one comes first.")
        endif()
        set(rank ${${class}})
        set(before ${class})
    endforeach()
endfunction()
