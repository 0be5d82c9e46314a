#include "body.h"

#include <algorithm>

#include "opcodes.h"

namespace attune::ptx {

namespace {

using Kind = Instruction::Kind;

bool contains(const std::vector<std::string> &list, const std::string &name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

/** The registers of a type that passes add are one range of this name. */
std::string range_of(const std::string &type) { return "%attune_" + type + "_"; }

bool is_added_range(const Variable &variable) { return variable.name.compare(0, 8, "%attune_") == 0; }

std::vector<Instruction> concatenate(std::vector<Instruction> all, const std::vector<Instruction> &more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

} // namespace

Body::Body(Kernel &kernel) : instructions_(kernel.body) {
    definitions_.resize(size());
    uses_.resize(size());
    ends_.resize(size());
    for (size_t i = 0; i < size(); ++i) {
        definitions_[i] = ptx::definitions(instructions_[i]);
        uses_[i] = ptx::uses(instructions_[i]);
        ends_[i] = ptx::ends_block(instructions_[i]);
        count(instructions_[i], 1);
        const Variable &variable = instructions_[i].variable;
        if (is_added_range(variable)) added_[variable.attributes.substr(variable.attributes.rfind('.') + 1)] = variable.range;
    }
}

bool Body::defines(size_t i, const std::string &reg) const { return contains(definitions_[i], reg); }
bool Body::reads(size_t i, const std::string &reg) const { return contains(uses_[i], reg); }

int Body::uses_of(const std::string &reg) const {
    const auto found = use_counts_.find(reg);
    return found == use_counts_.end() ? 0 : found->second;
}

void Body::count(const Instruction &instruction, int by) {
    for (const std::string &reg : ptx::uses(instruction))
        use_counts_[reg] += by;
}

void Body::set(size_t i, Instruction instruction) {
    count(instructions_[i], -1);
    count(instruction, 1);
    instructions_[i] = std::move(instruction);
    definitions_[i] = ptx::definitions(instructions_[i]);
    uses_[i] = ptx::uses(instructions_[i]);
    ends_[i] = ptx::ends_block(instructions_[i]);
}

void Body::erase(size_t i) { set(i, {}); }

void Body::replace(size_t i, std::vector<Instruction> statements) {
    set(i, std::move(statements.back()));
    statements.pop_back();
    put_before(i, std::move(statements));
}

void Body::put_before(size_t i, std::vector<Instruction> statements) {
    std::vector<Instruction> &list = before_[i];
    for (Instruction &statement : statements) {
        count(statement, 1);
        list.push_back(std::move(statement));
    }
}

void Body::put_first(Instruction statement) {
    count(statement, 1);
    start_.push_back(std::move(statement));
}

std::string Body::fresh(const std::string &type) { return range_of(type) + std::to_string(added_[type]++); }

Operand Body::in_register(const Operand &operand) {
    if (operand.kind != Operand::Kind::immediate) return operand;
    std::string &reg = constants_[operand.name];
    if (reg.empty()) {
        reg = fresh("b32");
        put_first(make(0, "mov.b32", {Operand::reg(reg), operand}));
    }
    return Operand::reg(reg);
}

Instruction Body::make(int line, const std::string &opcode, std::vector<Operand> operands) {
    Instruction result;
    result.kind = Kind::code;
    result.line = line;
    result.opcode = opcode;
    result.operands = std::move(operands);
    return result;
}

std::vector<Instruction> Body::opening() const {
    std::vector<Instruction> result;
    for (const auto &[type, count] : added_) {
        Instruction declaration;
        declaration.kind = Kind::declaration;
        declaration.variable.attributes = ".reg ." + type;
        declaration.variable.name = range_of(type);
        declaration.variable.range = count;
        result.push_back(declaration);
    }
    result.insert(result.end(), start_.begin(), start_.end());
    return result;
}

void Body::finish() {
    std::vector<Instruction> result;
    bool opened = false;
    for (size_t i = 0; i < size(); ++i) {
        const bool is_declaration = instructions_[i].kind == Kind::declaration;
        if (is_declaration && is_added_range(instructions_[i].variable)) continue;
        if (!opened && !is_declaration) {
            result = concatenate(std::move(result), opening());
            opened = true;
        }
        const auto before = before_.find(i);
        if (before != before_.end()) result = concatenate(std::move(result), before->second);
        if (instructions_[i].kind != Kind::none) result.push_back(std::move(instructions_[i]));
    }
    instructions_ = std::move(result);
}

} // namespace attune::ptx
