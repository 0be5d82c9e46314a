#include "schedules/cuda/shorten_steps.h"

#include "dsl/warp.h"

namespace attune::schedules::cuda {

using Halide::Expr;
using namespace Halide::Internal;

Stmt ShortenSteps::visit(const For *op) {
    const Expr outer_first = first_step, outer_count = count;
    const std::string outer_loop = loop;
    first_step = count = Expr(), loop = op->name;
    Stmt changed = IRMutator::visit(op);
    if (count.defined()) {
        const For *as_it_is = changed.as<For>();
        const Expr first = simplify(substitute(op->name, op->min, first_step));
        const Expr extent = simplify(max(min(op->extent, count - first), 0));
        changed = For::make(as_it_is->name, as_it_is->min, extent, as_it_is->for_type, as_it_is->partition_policy, as_it_is->device_api,
                            as_it_is->body);
    }
    first_step = outer_first, count = outer_count, loop = outer_loop;
    return changed;
}

Stmt ShortenSteps::visit(const IfThenElse *op) {
    const Expr condition = substitute_in_all_lets(op->condition);
    const Call *call = condition.as<Call>();
    if (!call || call->name != dsl::warp::in_steps_name) return IRMutator::visit(op);
    const Expr step = call->args[0], end = call->args[1];
    const Expr ahead = simplify(step - Variable::make(Halide::Int(32), loop));
    Stmt body = mutate(op->then_case);
    // Parts of the body may have it each.
    const bool same = !count.defined() || (equal(step, first_step) && equal(end, count));
    const bool is_the_loops = same && !expr_uses_var(ahead, loop) && !expr_uses_var(end, loop);
    if (!is_the_loops) return IfThenElse::make(step < end, body);
    first_step = step, count = end;
    return body;
}

} // namespace attune::schedules::cuda
