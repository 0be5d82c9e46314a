# Compiles SOURCE by hand with what pkg-config says about the Attune in PREFIX, and runs it.
file(GLOB_RECURSE description "${PREFIX}/*/attune.pc")
get_filename_component(directory "${description}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} "${directory}")
execute_process(
    COMMAND "${PKG_CONFIG}" --cflags --libs attune
    OUTPUT_VARIABLE options
    OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY
)
separate_arguments(options UNIX_COMMAND "${options}")
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
execute_process(COMMAND "${COMPILER}" ${flags} "${SOURCE}" -o "${PROGRAM}" ${options} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${PROGRAM}" COMMAND_ERROR_IS_FATAL ANY)
