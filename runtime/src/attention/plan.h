// What attune_attention_plan_create settles once.
#pragma once

#include "runtime/src/cuda/mask.h"
#include "runtime/src/mask/program.h"
#include "runtime/src/mask/rules.h"
#include "runtime/src/status.h"
#include "text/position.h"
#include "text/score.h"

namespace attune::runtime {

/** Up to how many queries a kernel for few of them is chosen, over few keys for each and over more. */
struct DecodedQueries {
    int64_t over_few_keys = 0, most = 0;
};

} // namespace attune::runtime

struct attune_attention_plan {
    attune_device device = ATTUNE_CPU;
    const attune_kernel *kernel = nullptr;
    const attune_kernel *decode_kernel = nullptr;    // where the choice is Attune's, of few queries; nullptr: `kernel` does them, too
    attune::runtime::DecodedQueries decoded_queries; // by it, on ATTUNE_CPU
    const attune_kernel *tiled_kernel = nullptr;     // where the choice is Attune's, of many queries of f32 or f16 on a CPU with tiles
    int64_t least_tiled_queries = 0;                 // by it
    const attune_kernel *steady_kernel = nullptr;    // where `kernel` isn't flash's: what does attention for weights at low temperatures
    int64_t head_dim = 0;
    int64_t value_dim = 0;
    bool own_kernel = false; // the kernel is the caller's, not a prebuilt one
    attune::runtime::PlanMask run_time_mask;
    attune::runtime::PlanMask kernel_mask; // of a kernel of the caller's own; prebuilt ones have none
    attune::runtime::MaskProgram program;  // of what both masks leave rows as intervals
    attune::runtime::CudaMask cuda_mask;   // on ATTUNE_CUDA, in the place of the program
    attune::text::Score score;             // the kernel's own, or the run-time text
    attune::text::Position position;       // likewise
    bool score_compiled_in = false;
    bool position_compiled_in = false;
    const attune_kernel *weights_kernel = nullptr; // of weights and scores: it has nothing compiled in
    attune::runtime::Status weights_status;        // why there is none
};

namespace attune::runtime {

struct AttentionShape;

constexpr const char *decode_schedule = "decode";
constexpr const char *split_schedule = "split_kv"; // its counterpart on a GPU

/** The kernel that runs these arguments. Which one depends on N, M, the heads of a group and what is asked for, and so never on batch or
 * threads. */
const attune_kernel &kernel_for(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape);

/** Takes desc.kernel, which must be what the descriptor asks for. Whether this machine runs it is another question. */
Status take_kernel(const attune_attention_desc &desc, attune_attention_plan &plan);

/** `desc` has been checked. */
Status make_cuda_plan(const attune_attention_desc &desc, attune_attention_plan &plan);

Status make_plan(const attune_attention_desc *desc, attune_attention_plan &plan);

} // namespace attune::runtime
