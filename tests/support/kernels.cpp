#include "kernels.h"

#include <algorithm>

namespace attune::test {

std::vector<const attune_kernel *> kernels_of_all_types(std::string_view operation) {
    std::vector<const attune_kernel *> kernels;
    for (int32_t index = 0; index < attune_kernel_count(); index++) {
        const attune_kernel *kernel = attune_kernel_at(index);
        if (kernel->device == ATTUNE_CPU && kernel->operation == operation && kernel->cache_dtype == kernel->dtype)
            kernels.push_back(kernel);
    }
    return kernels;
}

std::vector<const attune_kernel *> kernels_of(std::string_view operation) {
    std::vector<const attune_kernel *> kernels = kernels_of_all_types(operation);
    const auto other = [](const attune_kernel *kernel) { return kernel->dtype != ATTUNE_F32; };
    kernels.erase(std::remove_if(kernels.begin(), kernels.end(), other), kernels.end());
    return kernels;
}

bool is_reference(const attune_kernel &kernel) { return std::string_view(kernel.schedule) == "reference"; }

std::vector<std::string> schedules_of(std::string_view operation) {
    std::vector<std::string> names;
    for (const attune_kernel *kernel : kernels_of(operation))
        if (std::find(names.begin(), names.end(), kernel->schedule) == names.end()) names.push_back(kernel->schedule);
    return names;
}

std::string kernel_name(const ::testing::TestParamInfo<const attune_kernel *> &info) { return info.param->name; }

std::vector<int64_t> head_dims(const attune_kernel &kernel) {
    if (kernel.head_dim != 0) return {kernel.head_dim};
    std::vector<int64_t> dims = {1, 7, 16, 64, 80, 128, 256};
    for (const attune_kernel *other : kernels_of(kernel.operation))
        if (std::string_view(other->schedule) == kernel.schedule)
            dims.erase(std::remove(dims.begin(), dims.end(), other->head_dim), dims.end());
    return dims;
}

int64_t head_dim_or(const attune_kernel &kernel, int64_t otherwise) { return kernel.head_dim != 0 ? kernel.head_dim : otherwise; }
int64_t value_dim_or(const attune_kernel &kernel, int64_t otherwise) { return kernel.value_dim != 0 ? kernel.value_dim : otherwise; }

} // namespace attune::test
