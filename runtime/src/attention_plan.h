// What attune_attention_plan_create settles once.
#pragma once

#include "mask_program.h"
#include "mask_rules.h"
#include "status.h"
#include "text/position.h"
#include "text/score.h"

struct attune_attention_plan {
    const attune_kernel *kernel = nullptr;
    int64_t head_dim = 0;
    int64_t value_dim = 0;
    bool own_kernel = false; // the kernel is the caller's, not a prebuilt one
    attune::runtime::PlanMask run_time_mask;
    attune::runtime::PlanMask kernel_mask; // of a kernel of the caller's own; prebuilt ones have none
    attune::runtime::MaskProgram program;  // of what both masks leave rows as intervals
    attune::text::Score score;             // the kernel's own, or the run-time text
    attune::text::Position position;       // likewise
    bool score_compiled_in = false;
    bool position_compiled_in = false;
    const attune_kernel *weights_kernel = nullptr; // of weights and scores: it has nothing compiled in
    attune::runtime::Status weights_status;        // why there is none
};

namespace attune::runtime {

Status make_plan(const attune_attention_desc *desc, attune_attention_plan &plan);

} // namespace attune::runtime
