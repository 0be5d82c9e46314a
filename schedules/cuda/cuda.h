// Schedules for CUDA's tensor cores.
#pragma once

#include <vector>

#include "dsl/attention/fragments.h"

namespace attune::schedules {

/** A named schedule of attention in fragments: how it is cut for a head dimension, and how it is computed. */
struct FragmentSchedule {
    const char *name;
    const char *device;
    const char *summary; // one line for people
    dsl::FragmentBlocking (*shape)(int head_dim);
    void (*apply)(const dsl::FragmentAttention &attention);
    bool split; // split-KV: dsl::FragmentInputs::keys_per_chunk is given
};

const std::vector<FragmentSchedule> &fragment_schedules();

} // namespace attune::schedules
