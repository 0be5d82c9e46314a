#include "schedules/cuda/shorten_steps.h"

#include <sstream>

#include "dsl/warp.h"

namespace attune::schedules::cuda {

using Halide::Expr;
using namespace Halide::Internal;

namespace {

[[noreturn]] void fail(const For &loop, const Expr &step, const Expr &count) {
    std::ostringstream sentence;
    sentence << "in_steps(" << step << ", " << count << ") in the loop " << loop.name
             << ": the step must be the loop's variable plus a constant, and the count the same in every turn";
    throw Halide::CompileError(sentence.str());
}

} // namespace

Stmt ShortenSteps::visit(const For *op) {
    const Expr outer_step = step, outer_count = count;
    step = count = Expr();
    Stmt changed = IRMutator::visit(op);
    if (step.defined()) {
        const Expr first_step = simplify(substitute(op->name, op->min, step));
        const Expr ahead = simplify(step - Variable::make(Halide::Int(32), op->name));
        if (expr_uses_var(ahead, op->name) || expr_uses_var(count, op->name)) fail(*op, step, count);
        const For *loop = changed.as<For>();
        const Expr extent = simplify(max(min(op->extent, count - first_step), 0));
        changed = For::make(loop->name, loop->min, extent, loop->for_type, loop->partition_policy, loop->device_api, loop->body);
    }
    step = outer_step, count = outer_count;
    return changed;
}

Stmt ShortenSteps::visit(const IfThenElse *op) {
    const Expr condition = substitute_in_all_lets(op->condition);
    const Call *call = condition.as<Call>();
    if (!call || call->name != dsl::warp::in_steps_name) return IRMutator::visit(op);
    Stmt body = mutate(op->then_case);
    step = call->args[0], count = call->args[1];
    return body;
}

} // namespace attune::schedules::cuda
