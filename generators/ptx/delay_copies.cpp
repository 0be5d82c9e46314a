// At the beginning of a step stand the copies for the next, and where their rows lie is long to compute: meanwhile the tensor cores of a
// multiprocessor would have nothing to do. So copies, and what is computed for them alone, move behind the step's first products by
// warpgroup, which run by themselves. Memory doesn't mind: what a step copies no product of the same step reads.
//
// Where the step may have no products (the first one, which only copies) a branch leaves before them. On that way the copies stay where
// they are, after the branch.
#include <algorithm>
#include <set>

#include "control_flow.h"
#include "copy_parts.h"
#include "opcodes.h"

namespace attune::ptx {

namespace {

constexpr size_t none = static_cast<size_t>(-1);

/** Whether it can as well run later, or in two places: it only computes, or reads what never changes. */
bool may_wait(const Body &body, size_t i) { return follows_from_operands(body[i]) && !body.ends_block(i) && !body.defines(i).empty(); }

/** The copies of [begin, end), and what is computed there for them alone. */
std::set<size_t> copying(const Body &body, size_t begin, size_t end) {
    std::set<size_t> found;
    const auto is_for_copies = [&](const std::string &reg) {
        int reads = 0;
        for (size_t i : found)
            reads += static_cast<int>(std::count(body.reads(i).begin(), body.reads(i).end(), reg));
        return reads > 0 && reads == body.uses_of(reg);
    };
    for (size_t i = end; i-- > begin;)
        if (is_copy(body[i]) || (may_wait(body, i) && std::all_of(body.defines(i).begin(), body.defines(i).end(), is_for_copies)))
            found.insert(i);
    return found;
}

/** The wait for products that begin before any barrier in [begin, end), and end there; or none. */
size_t wait_for_products(const Body &body, size_t begin, size_t end) {
    bool begun = false;
    for (size_t i = begin; i < end && !is_barrier(body[i]); ++i) {
        begun = begun || body[i].is("wgmma.commit_group");
        if (begun && body[i].is("wgmma.wait_group")) return i;
    }
    return none;
}

/** Whether the instructions `moved` read and write the same at `end`, and may pass what stands before it. */
bool can_move(const Body &body, const std::set<size_t> &moved, size_t end) {
    for (size_t i = *moved.begin(); i < end; ++i) {
        if (moved.count(i)) continue;
        if (is_barrier(body[i]) || writes_memory(body[i])) return false;
        for (const std::string &reg : body.defines(i))
            for (size_t k : moved)
                if (body.defines(k, reg) || (k < i && body.reads(k, reg))) return false;
    }
    return true;
}

/** Delays the copies of a block that is left for products or, by a branch, for somewhere else. */
void delay(Body &body, const ControlFlow &flow, size_t number) {
    const std::vector<Block> &blocks = flow.blocks();
    const size_t branch = blocks[number].end - 1, next = number + 1;
    if (next == blocks.size() || blocks[next].predecessors != std::vector<size_t>{number}) return;
    if (!body[branch].is("bra") || body[branch].guard.empty()) return;
    const size_t wait = wait_for_products(body, blocks[next].begin, blocks[next].end);
    const std::set<size_t> moved = copying(body, blocks[number].begin, branch);
    const bool any = std::any_of(moved.begin(), moved.end(), [&](size_t i) { return is_copy(body[i]); });
    if (!any || wait == none || !can_move(body, moved, wait)) return;

    std::vector<Instruction> delayed;
    for (size_t i : moved) {
        delayed.push_back(body[i]);
        body.erase(i);
    }
    Instruction to_products = body[branch], label;
    label.kind = Instruction::Kind::label, label.line = to_products.line, label.name = "$attune_products_" + std::to_string(number);
    to_products.guard_negated = !to_products.guard_negated, to_products.operands = {Operand::symbol(label.name)};
    std::vector<Instruction> left{to_products};
    left.insert(left.end(), delayed.begin(), delayed.end());
    left.push_back(Body::make(label.line, "bra.uni", body[branch].operands));
    left.push_back(label);
    body.replace(branch, std::move(left));
    body.put_before(wait, std::move(delayed));
}

} // namespace

void delay_copies(Kernel &kernel) {
    Body body(kernel);
    const ControlFlow flow(body);
    for (size_t block = 0; block < flow.blocks().size(); ++block)
        if (flow.innermost(block)) delay(body, flow, block);
    body.finish();
}

} // namespace attune::ptx
