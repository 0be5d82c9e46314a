# cmake -D PACKAGE=folder -D "CALL=arguments" -P call.cmake: calls attune_add_kernel as a project might, with arguments as CMake reads them.
cmake_minimum_required(VERSION 3.28)
include("${PACKAGE}/AttuneKernels.cmake")
set_property(GLOBAL PROPERTY ATTUNE_ATTENTION_SCHEDULES flash reference)
cmake_language(EVAL CODE "attune_add_kernel(${CALL})")
