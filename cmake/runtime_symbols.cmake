# cmake -D NM=nm -D OBJECT=halide_runtime.o -D OUTPUT=list -P runtime_symbols.cmake
# Writes `symbol attune_symbol` for every global symbol OBJECT defines: the list that objcopy --redefine-syms takes.
execute_process(
    COMMAND "${NM}" --defined-only --extern-only --format=posix "${OBJECT}"
    OUTPUT_VARIABLE listing
    COMMAND_ERROR_IS_FATAL ANY
)
string(REGEX REPLACE "([^\n ]+) [^\n]*" "\\1 attune_\\1" pairs "${listing}")
file(WRITE "${OUTPUT}" "${pairs}")
