// What attune_attention_plan_create settles once.
#pragma once

#include "mask_program.h"
#include "mask_rules.h"
#include "status.h"

struct attune_attention_plan {
    const attune_kernel *kernel = nullptr;
    int64_t head_dim = 0;
    int64_t value_dim = 0;
    attune::runtime::PlanMask run_time_mask;
    attune::runtime::PlanMask kernel_mask;        // of a kernel of the caller's own; prebuilt ones have none
    bool own_kernel = false;                      // the kernel is the caller's, not a prebuilt one
    attune::runtime::MaskProgram program;         // of the run-time mask: what the kernel is given
    attune::runtime::MaskProgram weights_program; // of both masks: the weights' kernel has none compiled in
    const attune_kernel *weights_kernel = nullptr;
    attune::runtime::Status weights_status; // why there is none
};

namespace attune::runtime {

Status make_plan(const attune_attention_desc *desc, attune_attention_plan &plan);

} // namespace attune::runtime
