// Cases for the compiler alone: see CMakeLists.txt.
#include "attune/attune.hpp"

void use(float *x, double *wide, unsigned *codes) {
    const attune::TensorView view(x, {1, 1, 4, 8});
    attune::Result<attune::AttentionPlan> plan = attune::AttentionPlan::create({});
    const attune::AttentionArgs args(view, view, view, view);
    if (!plan || !plan->run(args) || !attune::softmax(view, view)) return;
    attune::AttentionPlan moved = std::move(plan).value();
    const bool ok = moved.run(args).ok();
#if CASE == 1
    attune::TensorView misused(wide, {4, 8});
#elif CASE == 2
    attune::TensorView misused(codes, {4, 8});
#elif CASE == 3
    attune::AttentionPlan::create({});
#elif CASE == 4
    moved.run(args);
#elif CASE == 5
    attune::softmax(view, view);
#elif CASE == 6
    attune::AttentionPlan copy = moved;
#elif CASE == 7
    int code = moved.run(args);
#elif CASE == 8
    attune::AttentionArgs misused(view, view, view);
#endif
    (void)wide, (void)codes, (void)ok;
}
