// The inside of a kernel: "{" declarations, labels and statements "}".
#pragma once

#include <unordered_map>

#include "cursor.h"
#include "module.h"

namespace attune::emulator {

class KernelParser {
public:
    KernelParser(Cursor &cursor, PtxKernel &kernel) : cursor(cursor), kernel(kernel), scopes(1) {}

    void parse_body();

private:
    Cursor &cursor;
    PtxKernel &kernel;
    std::vector<std::unordered_map<std::string, int>> scopes; // registers, innermost last

    void parse_item();
    void parse_directive();
    void parse_registers();
    void parse_statement();
    void declare(const std::string &name, Type type);
    int find_register(const std::string &name) const;
    int expect_register(const std::string &name);

    Operand parse_operand();
    Operand parse_word();
    Operand parse_address();
    Operand parse_list();
};

} // namespace attune::emulator
