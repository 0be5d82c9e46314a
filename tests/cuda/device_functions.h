// Kernels of functions, with tensors of the device.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attune/attune.hpp"
#include "device_memory.h"

namespace attune::test {

/** The schedules that kernels of the operation are linked in by. */
inline std::vector<std::string> linked_schedules(const std::string &operation, attune_type type = ATTUNE_F32) {
    std::vector<std::string> schedules;
    for (int32_t index = 0; index < attune_kernel_count(); index++) {
        const attune_kernel &kernel = *attune_kernel_at(index);
        if (kernel.operation == operation && kernel.dtype == type && kernel.device == ATTUNE_CUDA) schedules.emplace_back(kernel.schedule);
    }
    return schedules;
}

inline bool is_linked(const std::string &operation, attune_type type = ATTUNE_F32) { return !linked_schedules(operation, type).empty(); }

/** Calls run(y on the device), and brings y back. */
template <typename Run> void run_into(DeviceMemory &memory, const attune_tensor &y, const Run &run) {
    const attune_tensor there = memory.upload(y);
    const Status status = run(TensorView(there));
    ASSERT_TRUE(status.ok()) << status.message;
    memory.download(there, y);
}

} // namespace attune::test
