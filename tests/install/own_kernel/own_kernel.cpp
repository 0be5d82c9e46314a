// Runs the project's own kernels through plans: with all scores equal, a row is the mean of the values it may attend to.
#include "strided_cuda_kernel.h"
#include "strided_kernel.h"
#include "windowed_cuda_kernel.h"
#include "windowed_kernel.h"

#include <algorithm>
#include <attune/attune.hpp>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int tokens = 6, dim = 8, width = 2;

/** Whether the kernel's rows are as expected, where key j's value is j in every channel. */
bool check(const attune_kernel &kernel, const std::vector<int32_t> &params, const std::vector<float> &expected) {
    attune::AttentionDesc desc;
    desc.head_dim = dim;
    desc.kernel = &kernel;
    const auto plan = attune::AttentionPlan::create(desc);
    if (!plan) return std::fprintf(stderr, "%s: %s\n", kernel.name, plan.status().message.c_str()), false;

    std::vector<float> zeros(tokens * dim), values(tokens * dim), out(tokens * dim, NAN);
    for (int i = 0; i < tokens * dim; i++)
        values[i] = float(i / dim);
    const attune::TensorView q(zeros.data(), {1, 1, tokens, dim}), v(values.data(), {1, 1, tokens, dim}),
        y(out.data(), {1, 1, tokens, dim});
    attune::AttentionArgs args(q, q, v, y);
    args.has_offset = 1;
    args.params = params.data(), args.param_count = int32_t(params.size());
    const attune::Status status = plan.value().run(args);
    if (!status) return std::fprintf(stderr, "%s: %s\n", kernel.name, status.message.c_str()), false;

    for (int i = 0; i < tokens; i++)
        if (!(std::abs(out[i * dim] - expected[i]) < 1e-5f))
            return std::fprintf(stderr, "%s: row %d is %g, not %g\n", kernel.name, i, out[i * dim], expected[i]), false;
    return true;
}

/** Whether the kernel is for GPUs, and a plan takes it where there is one. */
bool check_cuda(const attune_kernel &kernel, int width) {
    attune::AttentionDesc desc;
    desc.dtype = kernel.dtype, desc.head_dim = width, desc.device = ATTUNE_CUDA;
    desc.kernel = &kernel;
    const auto plan = attune::AttentionPlan::create(desc);
    const bool as_it_should =
        plan.ok() == attune::cuda_status().ok() && std::string(kernel.targets).find("compute_80") != std::string::npos;
    if (!as_it_should) std::fprintf(stderr, "%s: %s\n", kernel.name, plan.status().message.c_str());
    return as_it_should;
}

} // namespace

int main() {
    std::vector<float> window_means, stride_means(tokens, float(0 + 2 + 4) / 3);
    for (int i = 0; i < tokens; i++)
        window_means.push_back(float(i + std::max(0, i - width)) / 2);
    const bool named = windowed_kernel.param_count == 1 && std::string(windowed_kernel.params[0]) == "width";
    return named && check_cuda(windowed_cuda_kernel, dim) && check_cuda(strided_cuda_kernel, 64) &&
                   check(windowed_kernel, {width}, window_means) && check(strided_kernel, {}, stride_means)
               ? 0
               : 1;
}
