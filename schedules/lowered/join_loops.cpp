#include "schedules/lowered/join_loops.h"

#include <optional>
#include <vector>

#include "schedules/lowered/outermost_loops.h"
#include "schedules/lowered/reduction_loop.h"

namespace attune::schedules {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

Expr in_full(const Values &names, const Expr &e) { return simplify(substituted(names, e)); }

} // namespace

Stmt JoinLoops::visit(const Block *op) {
    const OutermostLoops before = outermost_loops(op->first, first);
    if (before.count != 1) return IRMutator::visit(op);
    const For *one = before.loop;
    const std::optional<ReductionLoop> after = take_reduction_loop(op->rest, second, reduced, one->name);
    if (!after) return IRMutator::visit(op);
    const For *other = after->loop;
    if (!equal(in_full(before.names, one->min), in_full(after->names, other->min)) ||
        !equal(in_full(before.names, one->extent), in_full(after->names, other->extent)))
        throw Halide::CompileError("attune: loops that are to be joined, " + one->name + " and " + other->name + ", differ in length");
    const Stmt reading = substitute(other->name, Variable::make(Halide::Int(32), one->name), other->body);
    Stmt joined =
        For::make(one->name, one->min, one->extent, one->for_type, one->partition_policy, one->device_api, Block::make(one->body, reading));
    for (auto name = after->names.rbegin(); name != after->names.rend(); ++name)
        joined = LetStmt::make(name->first, name->second, joined);
    std::vector<Stmt> all = after->begin;
    all.push_back(joined);
    return Block::make(with_loop_replaced(op->first, one, Block::make(all)), after->rest);
}

} // namespace attune::schedules
