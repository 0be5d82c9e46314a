#include "call_sequence.h"

namespace attune::ptx {

namespace {

const char *const plain_types[] = {".b8", ".b16", ".b32", ".b64", ".u32", ".u64", ".s32", ".s64", ".f32", ".f64"};

bool is_plain(const std::string &type) {
    for (const char *plain : plain_types)
        if (type == plain) return true;
    return false;
}

/** Names in "(a, b)", which the parser reads as a vector. */
std::vector<std::string> names_in(const Operand &list) {
    std::vector<std::string> names;
    for (const Operand &element : list.elements)
        names.push_back(element.name);
    return names;
}

} // namespace

std::string CallSequence::declare(const Variable &parameter) {
    const size_t space = parameter.attributes.find(' ');
    const std::string type = space == std::string::npos ? "" : parameter.attributes.substr(space + 1);
    if (!is_plain(type) || !parameter.dimensions.empty()) return "a call passes plain values only, not " + parameter.attributes;
    slots_[parameter.name] = {type, {}};
    return "";
}

std::string CallSequence::add(const Instruction &instruction) {
    if (instruction.is("call")) return add_call(instruction);
    const bool stores = instruction.is("st.param");
    if (!stores && !instruction.is("ld.param")) return "unknown instruction inside a call sequence";
    if (instruction.operands.size() != 2) return "a call sequence moves one value at a time";
    const Operand &address = instruction.operands[stores ? 0 : 1];
    const Operand &value = instruction.operands[stores ? 1 : 0];
    if (address.kind != Operand::Kind::address || address.elements.empty() || address.offset != 0 || value.kind == Operand::Kind::vector)
        return "a call sequence moves one value at a time";
    const auto slot = slots_.find(address.elements[0].name);
    if (slot == slots_.end()) return "the parameter isn't declared in the call sequence";
    slot->second.value = value;
    return "";
}

std::string CallSequence::add_call(const Instruction &instruction) {
    const std::vector<Operand> &operands = instruction.operands;
    size_t at = 0;
    if (!instruction.guard.empty()) return "a call under a predicate is not in the subset";
    if (at < operands.size() && operands[at].kind == Operand::Kind::vector) results_ = names_in(operands[at++]);
    if (at == operands.size() || operands[at].kind != Operand::Kind::symbol) return "a call of a computed address is not in the subset";
    function_ = operands[at++].name;
    if (at < operands.size() && operands[at].kind == Operand::Kind::vector) arguments_ = names_in(operands[at++]);
    line_ = instruction.line;
    return at == operands.size() ? "" : "a call with a prototype is not in the subset";
}

std::string CallSequence::finish(Instruction &call) const {
    if (function_.empty()) return "a call sequence without a call";
    call.kind = Instruction::Kind::call;
    call.line = line_;
    call.name = function_;
    call.results = results_.size();
    for (const auto *names : {&results_, &arguments_}) {
        for (const std::string &name : *names) {
            const auto slot = slots_.find(name);
            if (slot == slots_.end()) return "parameter " + name + " of the call isn't declared";
            if (names == &arguments_ && slot->second.value.kind == Operand::Kind::sink)
                return "argument " + name + " of the call has no value";
            call.operands.push_back(slot->second.value);
            call.types.push_back(slot->second.type);
        }
    }
    return "";
}

} // namespace attune::ptx
