// Reads the statements of a kernel's body.
#pragma once

#include "module.h"
#include "token_reader.h"

namespace attune::ptx {

class BodyParser : protected TokenReader {
public:
    explicit BodyParser(std::string_view text) : TokenReader(text) {}

    /** Statements up to the end of the text. */
    std::vector<Instruction> statements();

protected:
    /** Statements up to the "}" that closes the body, and that. */
    std::vector<Instruction> body();
    /** ".global .align 4 .b8 name[2] = {1, 2}", without what follows. */
    Variable variable();
    /** Passes over .file, .loc and .section; false: something else is at hand. */
    bool skip_debug();

private:
    void statement(std::vector<Instruction> &body);
    Instruction directive();
    Instruction branch_targets();
    Instruction label();
    Instruction code();
    Instruction call_sequence();
    Operand operand();
    Operand simple_operand();
    Operand address();
    Operand vector();

    int scopes_ = 0; // open "{"
};

} // namespace attune::ptx
