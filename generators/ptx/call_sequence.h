// "{ .param ...; st.param ...; call.uni ...; ld.param ...; }" as one instruction.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "module.h"

namespace attune::ptx {

/** Gathers the statements of a call sequence. Each function returns a sentence that says what is wrong, or nothing. */
class CallSequence {
public:
    std::string declare(const Variable &parameter);
    /** st.param, call or ld.param. */
    std::string add(const Instruction &instruction);
    /** The call, once all statements were added. */
    std::string finish(Instruction &call) const;

private:
    struct Slot {
        std::string type; // ".b32"
        Operand value;    // an argument's value, or the register a result goes to
    };

    std::string add_call(const Instruction &instruction);

    std::map<std::string, Slot> slots_;
    std::vector<std::string> results_, arguments_; // names of slots
    std::string function_;
    int line_ = 0;
};

} // namespace attune::ptx
