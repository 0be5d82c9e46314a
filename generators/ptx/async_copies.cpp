#include "async_copies.h"

#include "copy_parts.h"
#include "opcodes.h"
#include "printer.h"

namespace attune::ptx {

namespace {

bool is_memory(const Instruction &instruction) {
    for (const char *opcode : {"ld", "ldu", "st", "atom", "red"})
        if (instruction.is(opcode)) return true;
    return false;
}

bool has_space(const Instruction &instruction) {
    for (const char *space : {"global", "shared", "local", "param", "const"})
        if (instruction.has(space)) return true;
    return false;
}

} // namespace

bool is_copy(const Instruction &instruction) { return instruction.is("cp.async.cg") || instruction.is("cp.async.ca"); }

bool is_barrier(const Instruction &instruction) {
    if (!instruction.is("bar") && !instruction.is("barrier")) return false;
    if (!instruction.is("bar.sync") || instruction.operands.size() != 1 || !instruction.guard.empty())
        throw error_at(instruction, "a barrier that is not of all threads is not in the subset");
    return true;
}

bool is_other_access(const Instruction &instruction) {
    if (is_copy(instruction)) return false;
    return accesses_shared(instruction) || (is_memory(instruction) && !has_space(instruction));
}

bool writes_memory(const Instruction &instruction) {
    const bool writes = instruction.is("st") || instruction.is("atom") || instruction.is("red");
    return writes && !instruction.has("local") && !instruction.has("param");
}

bool is_ordered(const Instruction &instruction) { return is_other_access(instruction) || writes_memory(instruction); }

int make_copies_async(Kernel &kernel, int stages) {
    const int copies = pair_copies(kernel, stages);
    if (copies == 0) return 0;
    merge_copy_barriers(kernel);
    merge_early_barriers(kernel, stages);
    wait_for_copies(kernel, stages);
    return copies;
}

} // namespace attune::ptx
