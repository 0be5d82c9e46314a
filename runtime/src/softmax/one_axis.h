// Kernels that work along one axis of tensors of any rank and strides: softmax, log-softmax and log-sum-exp.
#pragma once

#include <cstdint>

#include "runtime/src/kernel/call.h"

namespace attune::runtime {

/** What such a kernel is called for; checked. */
struct OneAxis {
    const char *operation; // of the kernel where the axis is contiguous
    const char *columns;   // where it isn't
    const char *schedule;  // or nullptr
    const attune_tensor &x;
    const attune_tensor &y;    // as x; its extent on `axis` may be 1 instead
    const attune_tensor *mask; // as x, each axis full or 1; or nullptr
    int32_t axis;
    float temperature;
};

/** `axis`: `given`, counted from the front. */
Status check_axis(int32_t given, const attune_tensor &x, int32_t &axis);

Status check_temperature(float temperature);

/** Checks a mask, which may be nullptr: bool, of the rank and on the device of x, each axis full or 1, apart from y. */
Status check_axis_mask(const attune_tensor *mask, const attune_tensor &x, const attune_tensor &y);

/** Finds the kernel and, where x has elements, runs it: over as many axes at once as it takes, in a loop over the others. */
Status run_one_axis(const OneAxis &problem, Call &call);

} // namespace attune::runtime
