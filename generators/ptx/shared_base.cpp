#include "shared_base.h"

#include <algorithm>
#include <set>

#include "body.h"
#include "opcodes.h"
#include "printer.h"

namespace attune::ptx {

namespace {

constexpr const char *base = "%attune_shared";

/** The operand that says where in shared memory, or nullptr. */
Operand *shared_address(Instruction &instruction) {
    if (instruction.is("wgmma.mma_async") || !accesses_shared(instruction)) return nullptr;
    for (Operand &operand : instruction.operands)
        if (operand.kind == Operand::Kind::address) return &operand;
    throw error_at(instruction, "a shared access without an address");
}

/** The register that holds `reg` relative to shared memory's beginning. */
std::string moved(const std::string &reg) { return reg + "_shared"; }

void check_width(const Kernel &kernel, const Instruction &instruction, const std::string &reg) {
    const std::string prefix = reg.substr(0, reg.find_last_not_of("0123456789") + 1);
    for (const Instruction &declaration : kernel.body) {
        const Variable &variable = declaration.variable;
        if (declaration.kind != Instruction::Kind::declaration || !variable.has(".reg")) continue;
        if ((variable.range < 0 ? variable.name == reg : variable.name == prefix) && variable.attributes.find("64") != std::string::npos)
            return;
    }
    throw error_at(instruction, "shared address " + reg + " is not a register of 64 bits");
}

/** Makes the addresses relative; returns the registers that they are built on. */
std::set<std::string> move_addresses(Kernel &kernel, bool &any) {
    std::set<std::string> bases;
    for (Instruction &instruction : kernel.body) {
        if (instruction.is("cvta.shared") || instruction.is("cvta.to.shared"))
            throw error_at(instruction, "generic addresses of shared memory are not in the subset");
        Operand *const address = shared_address(instruction);
        if (!address) continue;
        if (address->elements.empty()) {
            address->elements = {Operand::reg(base)};
        } else if (address->elements[0].is_register()) {
            const std::string reg = address->elements[0].name;
            if (bases.insert(reg).second) check_width(kernel, instruction, reg);
            address->elements[0].name = moved(reg);
        } else {
            continue; // a variable's own symbol
        }
        any = true;
    }
    return bases;
}

/** "add.s64 moved, reg, base", under the guard of what defines reg. */
Instruction addition(const Instruction &definition, const std::string &reg) {
    Instruction result = Body::make(definition.line, "add.s64", {Operand::reg(moved(reg)), Operand::reg(reg), Operand::reg(base)});
    result.guard = definition.guard;
    result.guard_negated = definition.guard_negated;
    return result;
}

Instruction declare(const std::string &reg) {
    Instruction result;
    result.kind = Instruction::Kind::declaration;
    result.variable.attributes = ".reg .b64";
    result.variable.name = reg;
    return result;
}

/** "attune.shared_address d, [a + n]" as an addition. */
void expand_address(Instruction &instruction) {
    if (!instruction.is("attune.shared_address")) return;
    const Operand address = instruction.operands[1];
    instruction.opcode = "add.s64";
    instruction.operands = {instruction.operands[0], address.elements[0], Operand::immediate(std::to_string(address.offset))};
}

} // namespace

Variable shared_memory() {
    Variable result;
    result.attributes = ".extern .shared .align 1024 .b8";
    result.name = "attune_shared";
    result.dimensions = "[]";
    return result;
}

bool rebase_shared_memory(Kernel &kernel) {
    bool any = false;
    const std::set<std::string> bases = move_addresses(kernel, any);
    if (!any) return false;
    std::vector<Instruction> body = {declare(base)};
    for (const std::string &reg : bases)
        body.push_back(declare(moved(reg)));
    bool started = false;
    for (Instruction &instruction : kernel.body) {
        if (!started && instruction.kind != Instruction::Kind::declaration) {
            body.push_back(Body::make(kernel.line, "mov.u64", {Operand::reg(base), Operand::symbol("attune_shared")}));
            started = true;
        }
        expand_address(instruction);
        body.push_back(instruction);
        for (const std::string &reg : definitions(instruction))
            if (bases.count(reg)) body.push_back(addition(instruction, reg));
    }
    kernel.body = std::move(body);
    return true;
}

} // namespace attune::ptx
