# Attune must define nothing that another Halide library defines: every symbol of the runtime carries its prefix, and so does every
# strong symbol of the library, by name or by namespace. (Weak ones are the C++ standard library's and fmt's, as in any program.)
function(defined_symbols out library)
    execute_process(
        COMMAND "${NM}" --defined-only --extern-only --format=posix ${ARGN} "${library}"
        OUTPUT_VARIABLE listing
        COMMAND_ERROR_IS_FATAL ANY
    )
    string(REGEX MATCHALL "[^\n]+ [A-Za-z] [^\n]*" symbols "${listing}")
    set(${out} "${symbols}" PARENT_SCOPE)
endfunction()

defined_symbols(symbols "${RUNTIME}")
list(LENGTH symbols count)
if(count LESS 200)
    message(FATAL_ERROR "${RUNTIME} defines ${count} symbols; Halide's runtime has more than 200")
endif()
list(FILTER symbols EXCLUDE REGEX "^attune_")
if(symbols)
    message(FATAL_ERROR "${RUNTIME} defines unprefixed: ${symbols}")
endif()

defined_symbols(symbols "${LIBRARY}")
set(halide ${symbols})
list(FILTER halide INCLUDE REGEX "^halide_|6Halide7Runtime")
set(strong ${symbols})
list(FILTER strong EXCLUDE REGEX "^(__odr_asan\\.)?attune_|^_Z[A-Z]*N?K?6attune| [VWu] ")
if(halide OR strong)
    message(FATAL_ERROR "${LIBRARY} defines unprefixed: ${halide} ${strong}")
endif()

foreach(archive "${LIBRARY}" "${RUNTIME}")
    execute_process(COMMAND "${AR}" tv "${archive}" OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[^\n]+" members "${listing}")
    list(FILTER members EXCLUDE REGEX " 0/0 .* 1970 ")
    if(members)
        message(FATAL_ERROR "${archive} keeps times or user ids: ${members}")
    endif()
endforeach()
