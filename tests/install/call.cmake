# cmake -D PACKAGE=folder -D "CALL=arguments" -P call.cmake: calls attune_add_kernel as a project might.
cmake_minimum_required(VERSION 3.28)
include("${PACKAGE}/AttuneKernels.cmake")
set_property(GLOBAL PROPERTY ATTUNE_ATTENTION_SCHEDULES flash reference)
separate_arguments(arguments UNIX_COMMAND "${CALL}")
attune_add_kernel(${arguments})
