#include "turns.h"

#include <algorithm>

#include "control_flow.h"
#include "copy_parts.h"
#include "printer.h"

namespace attune::ptx {

namespace {

constexpr int group_threads = 128;

/** Where the products of a group stand. */
struct Products {
    size_t fence = 0, commit = 0;
};

bool has_both_shared(const Instruction &product) { return product.operands[1].kind != Operand::Kind::vector; }

std::vector<Products> find_products(const Body &body) {
    std::vector<Products> found;
    Products next;
    bool wanted = false;
    for (size_t i = 0; i < body.size(); ++i) {
        if (body[i].is("wgmma.fence")) next.fence = i, wanted = false;
        wanted = wanted || (body[i].is("wgmma.mma_async") && has_both_shared(body[i]));
        if (!body[i].is("wgmma.commit_group") || !wanted) continue;
        next.commit = i, wanted = false;
        found.push_back(next);
    }
    return found;
}

void check_loop(const Body &body, const ControlFlow &flow, const Products &products) {
    const Loop *const loop = flow.innermost(flow.block_of(products.fence));
    if (!loop) return;
    for (size_t i = 0; i < body.size(); ++i)
        if (loop->contains[flow.block_of(i)] && is_barrier(body[i])) return;
    throw error_at(body[products.fence], "warpgroups can't take turns in a loop that has no barrier of all threads");
}

/** Predicates, set at the kernel's start: whether the thread is in group 0, 1, ... */
std::vector<std::string> predicates_of_groups(Body &body, int count) {
    const Operand group = Operand::reg(body.fresh("b32")), part = Operand::reg(body.fresh("b32"));
    const auto add = [&](const char *opcode, std::vector<Operand> operands) { body.put_first(Body::make(0, opcode, std::move(operands))); };
    add("mov.u32", {group, Operand::reg("%tid.z")});
    for (const auto &[extent, thread] : {std::pair{"%ntid.y", "%tid.y"}, {"%ntid.x", "%tid.x"}}) {
        add("mov.u32", {part, Operand::reg(extent)});
        add("mul.lo.u32", {group, group, part});
        add("mov.u32", {part, Operand::reg(thread)});
        add("add.u32", {group, group, part});
    }
    add("shr.u32", {group, group, Operand::immediate("7")}); // of 128 threads
    std::vector<std::string> predicates;
    for (int i = 0; i < count; ++i) {
        predicates.push_back(body.fresh("pred"));
        add("setp.eq.u32", {Operand::reg(predicates.back()), group, Operand::immediate(std::to_string(i))});
    }
    return predicates;
}

Instruction barrier(const char *opcode, int number, const std::string &guard, int line) {
    const Operand threads = Operand::immediate(std::to_string(2 * group_threads));
    Instruction made = Body::make(line, opcode, {Operand::immediate(std::to_string(number)), threads});
    made.guard = guard;
    return made;
}

} // namespace

void take_turns(Kernel &kernel, int threads) {
    Body body(kernel);
    const int groups = threads / group_threads;
    const std::vector<Products> all = find_products(body);
    if (groups < 2 || all.empty()) return;
    const ControlFlow flow(body);
    const std::vector<std::string> predicates = predicates_of_groups(body, groups);
    for (const Products &products : all) {
        check_loop(body, flow, products);
        for (int group = 1; group < groups; ++group) { // barrier `group` is between it and the one before it
            body.put_before(products.fence, {barrier("bar.sync", group, predicates[group], body[products.fence].line)});
            body.put_before(products.commit + 1, {barrier("bar.arrive", group, predicates[group - 1], body[products.commit].line)});
        }
    }
    body.finish();
}

} // namespace attune::ptx
