// A kernel specialised for a mask of one's own, from text. CMakeLists.txt generates it:
//     attune_add_kernel(sliding_attention MASK "causal & (window(256, 0) | prefix(sinks))" HEAD_DIM 64)
// Each token attends to the 256 before it and to the first few, the sinks (StreamingLLM, arXiv 2309.17453). The number is compiled
// in, the name is a parameter of each run; what the mask rules out is skipped block by block, by analysis of the expression.
#include <attune/attune.hpp>

#include "example.h"
#include "plain_attention.h"
#include "sliding_attention_kernel.h"

int main() {
    example::Problem p(2, 700, 64);
    attune::AttentionDesc desc;
    desc.head_dim = p.dim;
    desc.kernel = &sliding_attention_kernel;
    const auto plan = attune::AttentionPlan::create(desc);
    if (!plan) return example::fail(plan.status().message);
    std::printf("kernel %s, schedule %s, mask %s, parameter %s\n", plan->kernel().name, plan->kernel().schedule, plan->kernel().mask,
                plan->kernel().params[0]);

    const auto view = [&](const std::vector<float> &t) { return attune::TensorView(t.data(), {1, p.heads, p.tokens, p.dim}); };
    attune::AttentionArgs args(view(p.q), view(p.k), view(p.v), view(p.out));
    for (const int32_t sinks : {0, 4}) {
        args.params = &sinks, args.param_count = 1;
        if (const attune::Status status = plan->run(args); !status) return example::fail(status.message);
        const double error = example::largest_error(p, [=](int64_t i, int64_t j) { return j <= i && (j >= i - 256 || j < sinks); });
        std::printf("%d sinks: the largest error against float64 is %.2g of max |v|\n", sinks, error);
        if (!(error < 4e-6)) return 1;
    }
    return 0;
}
