#include "runtime/src/kernel/function_kernel.h"

#include "runtime/src/cuda/device.h"
#include "runtime/src/kernel/cpu.h"
#include "runtime/src/kernel/registry.h"
#include "runtime/src/tensor/overlap.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

Status find_function_kernel(const char *operation, const char *schedule, const attune_kernel *&kernel, attune_type type) {
    ATTUNE_TRY(check_cpu_setting());
    return find_kernel({operation, schedule ? schedule : "vectorized", type}, kernel);
}

Status find_function_kernel(const char *operation, const char *schedule, attune_device device, Call &call, const attune_kernel *&kernel,
                            attune_type type) {
    if (device != ATTUNE_CUDA) return find_function_kernel(operation, schedule, kernel, type);
    CudaDevice gpu;
    ATTUNE_TRY(find_cuda_device(gpu));
    use_device(gpu, call);
    KernelQuery query = {operation, schedule ? schedule : "simt", type};
    query.device = ATTUNE_CUDA, query.capability = gpu.capability;
    return find_kernel(query, kernel);
}

Status check_pair(const attune_tensor &x, const attune_tensor &y, int32_t min_rank, int32_t max_rank, bool any_strides,
                  attune_device device, attune_type type) {
    ATTUNE_TRY(check_tensor(x, {"x", type, min_rank, max_rank, Role::input, !any_strides, device}));
    ATTUNE_TRY(check_tensor(y, {"y", type, x.rank, x.rank, Role::output, !any_strides, device}));
    ATTUNE_TRY(check_same_extents(y, "y", x, "x", x.rank));
    ATTUNE_REQUIRE(same_view(x, y) || !may_overlap(y, x), "y overlaps x in memory; it must be apart from x, or x itself");
    return {};
}

} // namespace attune::runtime
