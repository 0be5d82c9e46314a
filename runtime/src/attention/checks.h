// All that is checked of one attention call before a kernel runs.
#pragma once

#include <cstdint>

#include "runtime/src/attention/cache.h"
#include "runtime/src/attention/plan.h"
#include "runtime/src/status.h"

namespace attune::runtime {

/** N + M at most. Kernels count both in 32 bits, in whole tasks, blocks and chunks, of which none has as many tokens as are left here. */
constexpr int64_t most_tokens = INT32_MAX - 65535;

struct AttentionShape {
    int64_t batch;
    int64_t heads;    // Hq
    int64_t kv_heads; // Hkv
    int64_t queries;  // N
    int64_t keys;     // M: of k, or of the cache
    int64_t new_keys; // tokens of k: M, or T where there is a cache
    int64_t head_dim;
    int64_t value_dim;
};

/** Checks q, k, v, out and the cache against the plan and each other, and fills in `shape`. */
Status check_operands(const attune_attention_plan &plan, const attune_attention_args &args, AttentionShape &shape);

/** Checks everything else. */
Status check_attention(const attune_attention_plan &plan, const RunCache &cache, const AttentionShape &shape);

// Its parts, in files of their own.

/** Boolean mask, key lengths, documents, block map, the kernel's parameters and the offsets. */
Status check_masks(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape);

/** The number of the kernel's parameters, and that each is no less than its term takes. */
Status check_params(const attune_attention_plan &plan, const attune_attention_args &args);

/** An error if a mask of the plan names a term whose tensors, which `tensors` says, aren't given. */
Status check_needed(const attune_attention_plan &plan, text::MaskKind kind, bool given, const char *tensors);

/** `documents` and `query_documents`, each of which may be nullptr: that there are ids for all keys and queries, [B, tokens] or [1,
 * tokens]. */
Status check_document_ids(const attune_attention_args &args, const AttentionShape &shape, attune_device device);

/** One of `offset` and `offsets` at most, and `offset` not without its flag. */
Status check_offset(const attune_attention_args &args);

/** `offset` or `offsets`, whichever is given. */
Status check_given_offsets(const attune_attention_args &args, const AttentionShape &shape);

/** Bias, T5 table, sinks, positions and all numbers. */
Status check_scores(const attune_attention_plan &plan, const RunCache &cache, const AttentionShape &shape);

/** No output, the cache among them, shares memory with an input or another output. `given_offsets`: the caller's, which over a cache `args`
 * has others for. */
Status check_overlaps(const attune_attention_args &args, const attune_tensor *given_offsets);

/** `tensor`, which may be nullptr, is of rank 4, each axis full or 1 of [B,Hq,N,M]. */
Status check_score_tensor(const attune_tensor *tensor, const char *name, attune_type type, const AttentionShape &shape,
                          attune_device device = ATTUNE_CPU);

/** `lse`, which may be nullptr. */
Status check_lse(const attune_tensor *lse, const AttentionShape &shape, attune_device device);

/** `sinks`, which may be nullptr. */
Status check_sinks(const attune_tensor *sinks, const AttentionShape &shape, attune_device device);

/** Scale, soft cap, temperature and dropout. */
Status check_numbers(const attune_attention_plan &plan, const attune_attention_args &args);

} // namespace attune::runtime
