// The prebuilt kernels as test parameters, so that a new row of the variant list is tested with no new code.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "attune/attune.h"

/** How a failing test names its parameter; in the global namespace, where attune_kernel is. */
inline void PrintTo(const attune_kernel *kernel, std::ostream *stream) { *stream << kernel->name; }

namespace attune::test {

/** The prebuilt f32 kernels of an operation, for CPUs. */
std::vector<const attune_kernel *> kernels_of(std::string_view operation);

/** Those of f16 and bf16 as well; not those whose keys and values are of another type. */
std::vector<const attune_kernel *> kernels_of_all_types(std::string_view operation);

/** Whether it is the slow, plain schedule: small sizes only. */
bool is_reference(const attune_kernel &kernel);

/** Names of schedules that an operation has, each once. */
std::vector<std::string> schedules_of(std::string_view operation);

/** Names a test's instance after its kernel. */
std::string kernel_name(const ::testing::TestParamInfo<const attune_kernel *> &info);

/** The widths to test: the kernel's own; where it takes any, the awkward ones that its schedule has no kernel of their own for. */
std::vector<int64_t> head_dims(const attune_kernel &kernel);

/** A kernel's own width, or `otherwise` where it takes any. */
int64_t head_dim_or(const attune_kernel &kernel, int64_t otherwise);
int64_t value_dim_or(const attune_kernel &kernel, int64_t otherwise);

} // namespace attune::test

/** Runs a suite on every prebuilt kernel of an operation. */
#define ATTUNE_FOR_EACH_KERNEL(Suite, operation)                                                                                           \
    INSTANTIATE_TEST_SUITE_P(Prebuilt, Suite, ::testing::ValuesIn(attune::test::kernels_of(operation)), attune::test::kernel_name)
