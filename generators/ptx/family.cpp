#include "family.h"

#include <algorithm>

#include "opcodes.h"
#include "printer.h"

namespace attune::ptx {

namespace {

constexpr size_t missing = static_cast<size_t>(-1);

/** The element number of a call. */
size_t element_of(const Instruction &call, size_t count) {
    if (call.operands.size() < 2) throw error_at(call, call.name + " needs an element number and arguments");
    const Operand &element = call.operands[1];
    const bool number = element.kind == Operand::Kind::immediate && element.name.find_first_not_of("0123456789") == std::string::npos;
    if (!number) throw error_at(call, "the element number is no constant: was the loop over elements unrolled?");
    const size_t value = std::stoul(element.name);
    if (value >= count) throw error_at(call, "the element number must be below " + std::to_string(count));
    return value;
}

bool same_arguments(const Instruction &a, const Instruction &b) {
    return a.name == b.name && a.operands.size() == b.operands.size() &&
           std::equal(a.operands.begin() + 2, a.operands.end(), b.operands.begin() + 2);
}

bool is_f32(const Instruction &instruction, const char *opcode) {
    return instruction.is(opcode) && instruction.has("f32") && !instruction.has("sat") && instruction.guard.empty();
}

} // namespace

Family find_family(const Body &body, size_t first, size_t count) {
    Family family;
    family.first = first;
    family.calls.assign(count, missing);
    family.results.resize(count);
    const Instruction &call = body[first];
    element_of(call, count);
    family.arguments.assign(call.operands.begin() + 2, call.operands.end());
    size_t found = 0;
    for (size_t i = first; i < body.size() && !body.ends_block(i) && found < count; ++i) {
        if (!body[i].is_call() || !same_arguments(body[i], call)) continue;
        const size_t element = element_of(body[i], count);
        if (family.calls[element] != missing)
            throw error_at(body[i], "element " + std::to_string(element) + " comes twice before its family is complete");
        family.calls[element] = i;
        family.results[element] = body[i].operands[0].name;
        ++found;
    }
    for (size_t r = 0; r < count; ++r)
        if (family.calls[r] == missing)
            throw error_at(call, "incomplete family: element " + std::to_string(r) + " of " + std::to_string(count) + " is missing");
    return family;
}

Sum find_sum(const Body &body, const Family &family, size_t r) {
    const std::string &result = family.results[r];
    const size_t call = family.calls[r];
    const int count = body.uses_of(result);
    if (count == 0) return {call, result, {Operand::immediate("0f00000000")}, true};
    size_t i = call + 1;
    while (i < body.size() && !body.ends_block(i) && !body.reads(i, result) && !body.defines(i, result))
        ++i;
    if (i == body.size() || !body.reads(i, result)) throw error_at(body[call], "the sum with the result is not in the same block");
    const Instruction &sum = body[i];
    const std::vector<Operand> &operands = sum.operands;
    const Operand wanted = Operand::reg(result);
    if (count == 1 && is_f32(sum, "add")) return {i, operands[0].name, {operands[1] == wanted ? operands[2] : operands[1]}, false};
    if (count == 1 && is_f32(sum, "fma") && operands[3] == wanted) return {i, operands[0].name, {operands[1], operands[2]}, false};
    throw error_at(sum, "the result of " + shown(body[call]) + " is not just added to an accumulator");
}

void check_unchanged(const Body &body, const std::vector<std::string> &registers, size_t begin, size_t end,
                     const std::set<size_t> &except) {
    for (size_t i = begin + 1; i < end; ++i) {
        if (except.count(i)) continue;
        for (const std::string &reg : registers)
            if (body.defines(i, reg)) throw error_at(body[i], "operand " + reg + " changes inside a family");
    }
}

std::vector<std::string> registers_of(const std::vector<Operand> &operands) {
    std::vector<std::string> registers;
    for (const Operand &operand : operands)
        append_registers(operand, registers);
    return registers;
}

Operand loaded_from(const Body &body, const Operand &argument, size_t at) {
    const std::string sentence = "argument " + print(argument) + " is not a word loaded from shared memory";
    if (!argument.is_register()) throw error_at(body[at], sentence);
    size_t load = at;
    while (load > 0 && !body.ends_block(load) && !body.defines(load, argument.name))
        --load;
    const Instruction &found = body[load];
    const bool word = found.is("ld") && found.has("shared") && found.operands[0].is_register() && found.guard.empty();
    if (!word || !body.defines(load, argument.name)) throw error_at(body[at], sentence);
    check_unchanged(body, registers_of({found.operands[1]}), load, at);
    for (size_t i = load + 1; i < at; ++i) {
        const bool writes = accesses_shared(body[i]) && !body[i].is("ld") && !body[i].is("ldmatrix");
        if (writes || body[i].is("bar") || body[i].is("barrier"))
            throw error_at(body[i], "shared memory may change before " + shown(body[at]) + " reads it");
    }
    return found.operands[1];
}

} // namespace attune::ptx
