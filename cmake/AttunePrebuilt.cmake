# Turns the rows of generators/variants.cmake into objects of the library `attune`, with the registry that lists them.
include_guard(GLOBAL)
set_property(GLOBAL PROPERTY ATTUNE_RUNTIME_SYMBOLS "${PROJECT_BINARY_DIR}/halide_runtime/symbols.txt")

# attune_halide_runtime: Halide's runtime, once, with its symbols renamed, so that it links beside another Halide library's.
# It loads no driver by itself: what it has of CUDA asks the runtime for the driver's functions when a kernel first wants them.
function(attune_add_halide_runtime)
    get_property(symbols GLOBAL PROPERTY ATTUNE_RUNTIME_SYMBOLS)
    get_filename_component(dir "${symbols}" DIRECTORY)
    add_custom_command(
        OUTPUT "${dir}/attune_halide_runtime.o" "${symbols}"
        COMMAND "${CMAKE_COMMAND}" -E make_directory "${dir}"
        COMMAND attune_generator -r halide_runtime -o "${dir}" -e object target=x86-64-linux-cuda
        COMMAND
            "${CMAKE_COMMAND}" -D "NM=${CMAKE_NM}" -D "OBJECT=${dir}/halide_runtime.o" -D "OUTPUT=${symbols}" -P
            "${PROJECT_SOURCE_DIR}/cmake/runtime_symbols.cmake"
        COMMAND "${CMAKE_OBJCOPY}" "--redefine-syms=${symbols}" "${dir}/halide_runtime.o" "${dir}/attune_halide_runtime.o"
        COMMAND "${CMAKE_COMMAND}" -E rm "${dir}/halide_runtime.o"
        DEPENDS "${PROJECT_SOURCE_DIR}/cmake/runtime_symbols.cmake"
        COMMENT "Generating Halide's runtime"
        VERBATIM
    )
    add_library(attune_halide_runtime STATIC "${dir}/attune_halide_runtime.o" "${symbols}")
    add_library(attune::halide_runtime ALIAS attune_halide_runtime)
    set_target_properties(attune_halide_runtime PROPERTIES LINKER_LANGUAGE C EXPORT_NAME halide_runtime)
    target_link_libraries(attune_halide_runtime INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
endfunction()

# Adds the kernels of all variants, and the registry, to a static library.
function(attune_add_prebuilt_kernels library)
    set(names "")
    set(objects "")
    set(count 0)
    set(declarations "")
    set(kernels "")
    set(entries "")
    include("${PROJECT_SOURCE_DIR}/generators/variants.cmake")

    foreach(name IN LISTS ATTUNE_VARIANTS)
        if(NOT name IN_LIST names)
            list(JOIN names ", " known)
            message(FATAL_ERROR "ATTUNE_VARIANTS names \"${name}\", which isn't a variant; there are: ${known}.")
        endif()
    endforeach()
    configure_file("${PROJECT_SOURCE_DIR}/cmake/registry.cpp.in" registry.cpp @ONLY)

    # Under Make, rules don't reach across folders, and so targets put the runtime before the kernels and those before the library.
    add_custom_target(attune_kernels DEPENDS ${objects})
    add_dependencies(attune_kernels attune_halide_runtime)
    add_dependencies(${library} attune_kernels)
    target_sources(${library} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/registry.cpp" ${objects})
    target_link_libraries(${library} PUBLIC attune_halide_runtime)
endfunction()

# Sets `name` of a row of variants.cmake, and lists it.
macro(_attune_name_variant operation schedule head_dim dtype)
    set(name ${operation}_${schedule}_${dtype})
    if(NOT ${head_dim} EQUAL 0)
        string(APPEND name _d${head_dim})
    endif()
    list(APPEND names ${name})
endmacro()

# Adds the objects `made` of the row `name`, which has code for `targets`, and its entry in the registry.
macro(_attune_register_variant operation schedule head_dim dtype device word_channels)
    list(APPEND objects ${made})
    _attune_cache_type(types ${dtype})
    string(APPEND declarations "int attune_${name}_argv(void **);\n")
    string(APPEND kernels "    {sizeof(attune_kernel), \"${name}\", \"${operation}\", \"${schedule}\",\n"
        "     \"${targets}\",\n"
        "     ${types}, ${head_dim}, ${head_dim}, \"\", \"\", \"\", 0, nullptr, attune_${name}_argv, ${device}, ${word_channels}},\n")
    string(APPEND entries "&kernels[${count}], ")
    math(EXPR count "${count} + 1")
endmacro()

# One row of variants.cmake. A macro, so that it adds to the lists of attune_add_prebuilt_kernels.
macro(attune_variant operation schedule head_dim dtype)
    _attune_name_variant(${operation} ${schedule} ${head_dim} ${dtype})
    # attune_add_kernel has the schedules that masks and scores can be compiled into.
    if("${operation}" STREQUAL "attention" AND NOT "${schedule}" STREQUAL "decode")
        set_property(GLOBAL APPEND PROPERTY ATTUNE_ATTENTION_SCHEDULES ${schedule})
    endif()
    if("${ATTUNE_VARIANTS}" STREQUAL "" OR name IN_LIST ATTUNE_VARIANTS)
        _attune_generator_arguments(${operation} ${schedule} ${head_dim} ${dtype})
        _attune_generate(
            made
            NAME attune_${name}
            EXECUTABLE attune_generator
            GENERATOR ${generator}
            DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/kernels"
            TARGETS ${ARGN}
            PARAMETERS schedule=${schedule} ${parameters}
        )
        _attune_target_strings(targets ${ARGN})
        _attune_register_variant(${operation} ${schedule} ${head_dim} ${dtype} ATTUNE_CPU 0)
    endif()
endmacro()

# One row of variants.cmake for CUDA: ARGN are the architectures, lowest first.
macro(attune_cuda_variant operation schedule head_dim dtype)
    _attune_name_variant(${operation} ${schedule} ${head_dim} ${dtype})
    if("${ATTUNE_VARIANTS}" STREQUAL "" OR name IN_LIST ATTUNE_VARIANTS)
        _attune_cuda_generator_arguments(${operation} ${schedule} ${head_dim} ${dtype})
        _attune_generate_cuda(
            made
            NAME attune_${name}
            EXECUTABLE attune_cuda_generator
            GENERATOR ${generator}
            DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/kernels"
            STAGES ${stages}
            ARCHITECTURES ${ARGN}
            PARAMETERS schedule=${schedule} ${parameters}
        )
        _attune_cuda_targets(targets ${ARGN})
        _attune_register_variant(${operation} ${schedule} ${head_dim} ${dtype} ATTUNE_CUDA ${words})
    endif()
endmacro()

# As _attune_generator_arguments, and `stages` and `words`: channels in a word of q, k and v, or 0.
function(_attune_cuda_generator_arguments operation schedule head_dim dtype)
    if(operation STREQUAL "attention")
        _attune_cuda_attention_arguments(${schedule} ${head_dim} ${dtype})
    else()
        set(stages 1)
        set(words 0)
        _attune_generator_arguments(${operation} ${schedule} ${head_dim} ${dtype})
        if(operation MATCHES "^(log_)?softmax$")
            set(generator held_softmax)
        endif()
    endif()
    foreach(result generator parameters stages words)
        set(${result} ${${result}} PARENT_SCOPE)
    endforeach()
endfunction()

# Sets `out` to a row's dtype and cache_dtype as attune_type: ATTUNE_BF16, ATTUNE_I8 for bf16_i8kv.
function(_attune_cache_type out dtype)
    string(REGEX REPLACE "_i8kv$" "" base "${dtype}")
    string(TOUPPER "ATTUNE_${base}" type)
    set(cache_type ${type})
    if(NOT base STREQUAL dtype)
        set(cache_type ATTUNE_I8)
    endif()
    set(${out} "${type}, ${cache_type}" PARENT_SCOPE)
endfunction()

# Sets `generator` to the one that serves an operation, and `parameters` to its parameters beside the schedule.
function(_attune_generator_arguments operation schedule head_dim dtype)
    set(generator ${operation})
    set(parameters "")
    string(REGEX REPLACE "_i8kv$" "" base "${dtype}")
    _attune_halide_type(type ${base})
    if(operation STREQUAL "attention")
        set(parameters head_dim=${head_dim} value_dim=${head_dim} dtype=${type})
        if(schedule STREQUAL "decode")
            set(generator attention_decode)
        endif()
    elseif(operation MATCHES "^(attention_weights|add_positions|cache_write|linear|row_sum|sinusoidal)$")
        set(parameters dtype=${type})
    elseif(operation MATCHES "^(softmax|log_softmax|log_sum_exp)(_columns)?$")
        set(generator softmax)
        set(parameters kind=${CMAKE_MATCH_1} dtype=${type})
        if(CMAKE_MATCH_2)
            list(APPEND parameters columns=true)
        endif()
    elseif(operation MATCHES "^(layer|rms)_norm$")
        set(generator normalization)
        set(parameters kind=${CMAKE_MATCH_1} dtype=${type})
    elseif(operation MATCHES "^rotary_(half|interleaved)$")
        set(generator rotary)
        set(parameters layout=${CMAKE_MATCH_1} dtype=${type})
    endif()
    if(NOT base STREQUAL dtype)
        list(APPEND parameters kv_dtype=int8)
    endif()
    set(generator ${generator} PARENT_SCOPE)
    set(parameters ${parameters} PARENT_SCOPE)
endfunction()
