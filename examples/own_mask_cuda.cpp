// Masks of one's own on a GPU: one from text, one from the C++ of dilated_attention.cpp, which serves CPUs as well. CMakeLists.txt
// generates both with DEVICE cuda. As on the CPU, what a mask rules out is skipped by analysis of its expression.
#include <attune/attune.hpp>

#include <dlfcn.h>
#include <functional>

#include "dilated_attention_cuda_kernel.h"
#include "example.h"
#include "plain_attention.h"
#include "sliding_attention_cuda_kernel.h"

namespace {

using Allowed = std::function<bool(int64_t, int64_t)>;

/** The driver, found at run time, so that this builds anywhere; programs with the CUDA toolkit include cuda.h instead. */
class Gpu {
public:
    bool start() {
        void *context = nullptr;
        return call<int(unsigned)>("cuInit", 0u) && call<int(void **, int)>("cuDevicePrimaryCtxRetain", &context, 0) &&
               call<int(void *)>("cuCtxSetCurrent", context);
    }
    /** A copy of the numbers, kept until the program ends. */
    void *upload(const std::vector<float> &numbers) {
        unsigned long long there = 0;
        const size_t bytes = numbers.size() * sizeof(float);
        call<int(unsigned long long *, size_t)>("cuMemAlloc_v2", &there, bytes);
        call<int(unsigned long long, const void *, size_t)>("cuMemcpyHtoD_v2", there, numbers.data(), bytes);
        return reinterpret_cast<void *>(static_cast<uintptr_t>(there));
    }
    /** Waits for everything launched, and copies. */
    bool download(std::vector<float> &numbers, const void *there) {
        return call<int(void *, unsigned long long, size_t)>("cuMemcpyDtoH_v2", numbers.data(), reinterpret_cast<uintptr_t>(there),
                                                             numbers.size() * sizeof(float));
    }

private:
    template <typename Function, typename... Arguments> bool call(const char *name, Arguments... arguments) {
        auto *function = library ? reinterpret_cast<Function *>(dlsym(library, name)) : nullptr;
        return function && function(arguments...) == 0;
    }
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
};

bool run(const attune_kernel &kernel, const std::vector<int32_t> &params, const Allowed &allowed, Gpu &gpu) {
    example::Problem p(2, 300, 64);
    attune::AttentionDesc desc;
    desc.head_dim = p.dim, desc.device = ATTUNE_CUDA;
    desc.kernel = &kernel;
    const auto plan = attune::AttentionPlan::create(desc);
    if (!plan) return example::fail(plan.status().message), false;

    const auto view = [&](const std::vector<float> &t) {
        attune_tensor tensor = attune::TensorView(static_cast<float *>(gpu.upload(t)), {1, p.heads, p.tokens, p.dim});
        tensor.device = ATTUNE_CUDA;
        return tensor;
    };
    attune::AttentionArgs args(view(p.q), view(p.k), view(p.v), view(p.out));
    args.params = params.data(), args.param_count = static_cast<int32_t>(params.size());
    if (const attune::Status status = plan->run(args); !status) return example::fail(status.message), false;
    if (!gpu.download(p.out, args.out.data)) return example::fail("the GPU gave no result"), false;
    const double error = example::largest_error(p, allowed);
    std::printf("kernel %s, %s: the largest error against float64 is %.2g of max |v|\n", kernel.name, kernel.targets, error);
    return error < 4e-6;
}

} // namespace

int main() {
    if (const attune::Status status = attune::cuda_status(); !status) {
        std::printf("skipped: %s\n", status.message.c_str());
        return 0;
    }
    Gpu gpu;
    if (!gpu.start()) return example::fail("the driver gives no context");
    const bool sliding = run(
        sliding_attention_cuda_kernel, {4}, [](int64_t i, int64_t j) { return j <= i && (j >= i - 64 || j < 4); }, gpu);
    const bool dilated = run(
        dilated_attention_cuda_kernel, {}, [](int64_t i, int64_t j) { return j <= i && (i - j) % 4 == 0; }, gpu);
    return sliding && dilated ? 0 : 1;
}
