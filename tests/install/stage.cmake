# cmake -D BUILD=... -D STAGING=... -D PREFIX=... -P stage.cmake: installs to STAGING and moves that to PREFIX, so that whatever
# still points to the place of installation breaks.
file(REMOVE_RECURSE "${STAGING}" "${PREFIX}")
execute_process(
    COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${STAGING}"
    OUTPUT_QUIET
    COMMAND_ERROR_IS_FATAL ANY
)
file(RENAME "${STAGING}" "${PREFIX}")

# Static libraries and headers only.
file(GLOB_RECURSE shared "${PREFIX}/*.so*")
if(shared)
    message(FATAL_ERROR "installed, but shared: ${shared}")
endif()
file(GLOB_RECURSE texts "${PREFIX}/*.cmake" "${PREFIX}/*.pc" "${PREFIX}/*.txt" "${PREFIX}/*.h" "${PREFIX}/*.hpp")
foreach(text IN LISTS texts)
    file(READ "${text}" content)
    foreach(path "${STAGING}" "${BUILD}")
        string(FIND "${content}" "${path}" found)
        if(NOT found EQUAL -1)
            message(FATAL_ERROR "${text} names ${path}")
        endif()
    endforeach()
endforeach()
