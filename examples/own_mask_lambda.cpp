// Runs a kernel whose mask is a C++ lambda: dilated_attention.cpp, made a library by attune_add_kernel in CMakeLists.txt.
#include <attune/attune.hpp>

#include "dilated_attention_kernel.h"
#include "example.h"
#include "plain_attention.h"

int main() {
    example::Problem p(2, 300, 64);
    attune::AttentionDesc desc;
    desc.head_dim = p.dim;
    desc.kernel = &dilated_attention_kernel;
    const auto plan = attune::AttentionPlan::create(desc);
    if (!plan) return example::fail(plan.status().message);

    const auto view = [&](const std::vector<float> &t) { return attune::TensorView(t.data(), {1, p.heads, p.tokens, p.dim}); };
    const attune::AttentionArgs args(view(p.q), view(p.k), view(p.v), view(p.out));
    if (const attune::Status status = plan->run(args); !status) return example::fail(status.message);

    const double error = example::largest_error(p, [](int64_t i, int64_t j) { return j <= i && (i - j) % 4 == 0; });
    std::printf("kernel %s: the largest error against float64 is %.2g of max |v|\n", plan->kernel().name, error);
    return error < 4e-6 ? 0 : 1;
}
