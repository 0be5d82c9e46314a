#include "runtime/src/attention/plan.h"
#include "runtime/src/attention/texts.h"
#include "runtime/src/cuda/attention.h"
#include "runtime/src/error.h"
#include "runtime/src/kernel/registry.h"

namespace attune::runtime {

namespace {

constexpr const char *tensor_core_schedules[] = {"wgmma", "mma"}; // of 16-bit types, best first
constexpr const char *plain_schedule = "simt";
constexpr int tensor_core_capability = 80;

Status check_cuda_desc(const attune_attention_desc &desc) {
    const auto refused = [](const char *name, const char *what) {
        return fail(ATTUNE_UNSUPPORTED, "desc.{} is given; attention on device cuda {}", name, what);
    };
    if (is_given(desc.position)) return refused("position", "takes none: attune_rotary applies one to q and k beforehand");
    if (desc.cache_dtype == ATTUNE_I8) return refused("cache_dtype ATTUNE_I8", "has caches of dtype alone");
    return {};
}

Status choose_cuda_kernel(const attune_attention_desc &desc, const CudaDevice &device, attune_attention_plan &plan) {
    const auto find = [&](const char *schedule, const attune_kernel *&found) {
        KernelQuery query = {"attention", schedule, desc.dtype, plan.head_dim, plan.value_dim};
        query.device = ATTUNE_CUDA, query.capability = device.capability;
        return find_kernel(query, found);
    };
    if (desc.schedule) return find(desc.schedule, plan.kernel);
    if (!find(split_schedule, plan.decode_kernel).ok()) plan.decode_kernel = nullptr;
    Status status;
    for (const char *schedule : tensor_core_schedules) {
        const bool linked = has_schedule("attention", schedule, ATTUNE_CUDA);
        if (desc.dtype == ATTUNE_F32 || device.capability < tensor_core_capability || !linked) continue;
        status = find(schedule, plan.kernel);
        if (status.ok()) return status;
    }
    const Status plain = find(plain_schedule, plan.kernel);
    return plain.ok() || status.ok() ? plain : status;
}

/** What the arguments of a run have room for. */
Status check_own_kernel(const attune_kernel &kernel) {
    ATTUNE_REQUIRE(kernel.param_count <= text::most_cuda_parameters, "kernel.param_count is {}; on device cuda it must be at most {}",
                   kernel.param_count, text::most_cuda_parameters);
    return {};
}

} // namespace

Status make_cuda_plan(const attune_attention_desc &desc, attune_attention_plan &plan) {
    ATTUNE_TRY(check_cuda_desc(desc));
    if (desc.kernel) {
        ATTUNE_TRY(take_kernel(desc, plan));
        ATTUNE_TRY(check_own_kernel(*plan.kernel));
    }
    ATTUNE_TRY(take_texts(desc, plan));
    CudaDevice device;
    ATTUNE_TRY(find_cuda_device(device));
    return desc.kernel ? check_machine(*plan.kernel, device.capability) : choose_cuda_kernel(desc, device, plan);
}

} // namespace attune::runtime
