# Every object in AGAIN must be the bytes of its namesake in FIRST.
file(GLOB objects RELATIVE "${AGAIN}" "${AGAIN}/*.o")
list(LENGTH objects count)
if(count LESS 2)
    message(FATAL_ERROR "${AGAIN} holds ${count} objects; a kernel for several targets has more")
endif()
foreach(object IN LISTS objects)
    execute_process(
        COMMAND "${CMAKE_COMMAND}" -E compare_files "${FIRST}/${object}" "${AGAIN}/${object}"
        COMMAND_ERROR_IS_FATAL ANY
    )
endforeach()
