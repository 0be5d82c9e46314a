#include "opcodes.h"

#include <algorithm>
#include <unordered_map>

namespace attune::ptx {

namespace {

constexpr Opcode opcodes[] = {
    // Arithmetic and moves: one result.
    {"abs", 1},
    {"activemask", 1},
    {"add", 1},
    {"addc", 1},
    {"and", 1},
    {"bfe", 1},
    {"bfi", 1},
    {"bfind", 1},
    {"bmsk", 1},
    {"brev", 1},
    {"clz", 1},
    {"cnot", 1},
    {"copysign", 1},
    {"cos", 1},
    {"cvt", 1},
    {"cvta", 1},
    {"div", 1},
    {"dp2a", 1},
    {"dp4a", 1},
    {"ex2", 1},
    {"fma", 1},
    {"fns", 1},
    {"isspacep", 1},
    {"lg2", 1},
    {"lop3", 1},
    {"mad", 1},
    {"mad24", 1},
    {"madc", 1},
    {"max", 1},
    {"min", 1},
    {"mov", 1},
    {"mul", 1},
    {"mul24", 1},
    {"neg", 1},
    {"not", 1},
    {"or", 1},
    {"popc", 1},
    {"prmt", 1},
    {"rcp", 1},
    {"rem", 1},
    {"rsqrt", 1},
    {"sad", 1},
    {"selp", 1},
    {"set", 1},
    {"setp", 1},
    {"shf", 1},
    {"shl", 1},
    {"shr", 1},
    {"sin", 1},
    {"slct", 1},
    {"sqrt", 1},
    {"sub", 1},
    {"subc", 1},
    {"szext", 1},
    {"tanh", 1},
    {"testp", 1},
    {"xor", 1},
    // Across the lanes of a warp. A shuffle's second result is part of the pair "%r1|%p1".
    {"match", 1},
    {"redux", 1},
    {"shfl", 1},
    {"vote", 1},
    // Memory.
    {"atom", 1},
    {"ld", 1},
    {"ldu", 1},
    {"red", 0},
    {"st", 0},
    {"prefetch", 0},
    {"prefetchu", 0},
    {"discard", 0},
    {"applypriority", 0},
    {"fence", 0},
    {"membar", 0},
    {"cp.async.ca", 0},
    {"cp.async.cg", 0},
    {"cp.async.commit_group", 0},
    {"cp.async.wait_group", 0},
    {"cp.async.wait_all", 0},
    // Barriers.
    {"bar.red", 1},
    {"bar", 0},
    {"barrier.red", 1},
    {"barrier.sync", 0},
    {"barrier.arrive", 0},
    {"nanosleep", 0},
    // Tensor cores.
    {"ldmatrix", 1},
    {"mma", 1},
    {"wgmma.mma_async", 1, true},
    {"wgmma.fence", 0},
    {"wgmma.commit_group", 0},
    {"wgmma.wait_group", 0},
    // The address of shared memory; only between the parts of the pass.
    {"attune.shared_address", 1},
    // Control.
    {"bra", 0, false, true},
    {"brx.idx", 0, false, true},
    {"exit", 0, false, true},
    {"ret", 0, false, true},
    {"trap", 0, false, true},
};

const std::unordered_map<std::string, const Opcode *> &table() {
    static const auto *const entries = [] {
        auto *map = new std::unordered_map<std::string, const Opcode *>;
        for (const Opcode &opcode : opcodes)
            map->emplace(opcode.name, &opcode);
        return map;
    }();
    return *entries;
}

/** How many leading operands the instruction writes, and whether it reads them as well. */
void written(const Instruction &instruction, size_t &count, bool &reads_them) {
    count = instruction.results;
    reads_them = false;
    if (!instruction.is_code()) return;
    const Opcode *const opcode = find_opcode(instruction.opcode);
    count = opcode ? opcode->writes : 0;
    reads_them = opcode && opcode->reads_them;
}

} // namespace

const Opcode *find_opcode(const std::string &opcode) {
    for (size_t end = opcode.size(); end != std::string::npos && end > 0; end = opcode.rfind('.', end - 1)) {
        const auto found = table().find(opcode.substr(0, end));
        if (found != table().end()) return found->second;
    }
    return nullptr;
}

void append_registers(const Operand &operand, std::vector<std::string> &registers) {
    if (operand.is_register()) registers.push_back(operand.name);
    for (const Operand &element : operand.elements)
        append_registers(element, registers);
}

std::vector<std::string> definitions(const Instruction &instruction) {
    size_t count;
    bool reads_them;
    written(instruction, count, reads_them);
    std::vector<std::string> registers;
    for (size_t i = 0; i < std::min(count, instruction.operands.size()); ++i)
        append_registers(instruction.operands[i], registers);
    return registers;
}

std::vector<std::string> uses(const Instruction &instruction) {
    size_t count;
    bool reads_them;
    written(instruction, count, reads_them);
    std::vector<std::string> registers;
    for (size_t i = reads_them ? 0 : count; i < instruction.operands.size(); ++i)
        append_registers(instruction.operands[i], registers);
    if (!instruction.guard.empty()) registers.push_back(instruction.guard);
    return registers;
}

bool ends_block(const Instruction &instruction) {
    if (instruction.kind == Instruction::Kind::label) return true;
    if (!instruction.is_code()) return false;
    const Opcode *const opcode = find_opcode(instruction.opcode);
    return opcode && opcode->branches;
}

bool follows_from_operands(const Instruction &instruction) {
    if (!instruction.is_code() || !instruction.guard.empty()) return false;
    if (instruction.is("ld")) return instruction.has("param") || instruction.has("nc");
    for (const char *opcode : {"ldu", "atom", "ldmatrix", "mma", "wgmma", "shfl", "vote", "match", "activemask", "redux", "bar", "barrier"})
        if (instruction.is(opcode)) return false;
    return true;
}

bool accesses_shared(const Instruction &instruction) {
    if (!instruction.is_code()) return false;
    if (instruction.is("attune.shared_address") || instruction.is("wgmma.mma_async")) return true;
    const bool memory = instruction.is("ld") || instruction.is("st") || instruction.is("atom") || instruction.is("red") ||
                        instruction.is("ldmatrix") || instruction.is("cp.async");
    return memory && instruction.has("shared");
}

} // namespace attune::ptx
