#include <cstring>

#include "attention_plan.h"
#include "cuda_device.h"
#include "error.h"
#include "registry.h"
#include "tensor.h"

namespace attune::runtime {

namespace {

constexpr const char *tensor_core_schedules[] = {"wgmma", "mma"}; // of 16-bit types, best first
constexpr const char *split_schedule = "split_kv";                // of few queries
constexpr const char *plain_schedule = "simt";
constexpr int tensor_core_capability = 80;

bool is_given(const char *text) { return text && std::strcmp(text, "none") != 0; }

Status check_cuda_desc(const attune_attention_desc &desc) {
    const auto refused = [](const char *name, const char *what) {
        return fail(ATTUNE_UNSUPPORTED, "desc.{} is given; attention on device cuda {}", name, what);
    };
    if (desc.kernel) return refused("kernel", "runs prebuilt kernels alone");
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

Status take_cuda_score(const char *text, attune_attention_plan &plan) {
    if (!text) return {};
    text::ScoreResult parsed = text::parse_score(text);
    ATTUNE_REQUIRE(parsed.ok(), "score, {}", parsed.error);
    plan.score = std::move(parsed.score);
    if (!plan.score.find(text::ScoreKind::t5)) return {};
    return fail(ATTUNE_UNSUPPORTED, "the score has t5; on device cuda it must be made of softcap, alibi and bias alone");
}

} // namespace

Status make_cuda_plan(const attune_attention_desc &desc, attune_attention_plan &plan) {
    ATTUNE_TRY(check_cuda_desc(desc));
    ATTUNE_TRY(parse_run_time_mask(desc.mask, plan.run_time_mask));
    ATTUNE_TRY(read_cuda_mask(plan.run_time_mask.mask, plan.cuda_mask));
    ATTUNE_TRY(take_cuda_score(desc.score, plan));
    CudaDevice device;
    ATTUNE_TRY(find_cuda_device(device));
    return choose_cuda_kernel(desc, device, plan);
}

} // namespace attune::runtime
