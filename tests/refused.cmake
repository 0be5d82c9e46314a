# cmake -D PROGRAM=... -D ARGUMENTS=list -D SAYS=sentence -P refused.cmake: the program must fail, and say the sentence.
execute_process(
    COMMAND "${PROGRAM}" ${ARGUMENTS}
    RESULT_VARIABLE result
    OUTPUT_VARIABLE message
    ERROR_VARIABLE message
)
# CMake wraps its messages.
string(REGEX REPLACE "[ \n]+" " " message "${message}")
string(FIND "${message}" "${SAYS}" found)
if(result EQUAL 0 OR found EQUAL -1)
    message(FATAL_ERROR "${PROGRAM} ${ARGUMENTS}\nshould fail and say: ${SAYS}\nbut ended with ${result} and said: ${message}")
endif()
