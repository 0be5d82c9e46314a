// The cache of one run: what its checks need to know, and what it makes of the arguments.
#pragma once

#include <cstdint>

#include "runtime/src/attention/plan.h"
#include "runtime/src/kernel/call.h"

namespace attune::runtime {

struct AttentionShape;

/** Tokens an item has room for. */
int64_t cache_capacity(const attune_cache &cache);

/** M: the capacity. Of a ring twice that: see RunCache. */
int64_t cache_keys(const attune_cache &cache);

/** Checks the cache of a run whose q, k, v and out have been checked, but for overlaps. */
Status check_cache(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape);

/**
 * The arguments of a run, with or without a cache, as all that comes after it reads them: key lengths are those of the cache with the new
 * tokens, and offsets are given.
 *
 * In a ring the tokens that are left lie within two rounds of it. Kernels see those two rounds as keys 0 to M - 1: key j is the token
 * first(b) + j, for a multiple first(b) of the capacity. So what a run costs, and how its keys are cut into blocks, never depends on how
 * long a sequence has become, nor on other items of the batch. Offsets and lengths of `args` count from first(b) too.
 */
class RunCache {
public:
    explicit RunCache(Call &call) : lengths_(call), offsets_(call), shifted_(call) {}

    Status fill(const attune_attention_args &args, const AttentionShape &shape);

    const attune_attention_args &args() const { return args_; }
    /** The caller's own, where args() has others for a cache. */
    const attune_tensor *given_offsets() const { return given_offsets_; }
    const attune_cache *cache() const { return args_.cache; } // nullptr: none

    /** Key positions of query 0 and of the first new token in the whole sequence: one per item, or one for all. */
    const attune_tensor *offsets() const { return uniform_ ? nullptr : &offsets_tensor_; }
    const attune_tensor *starts() const { return uniform_ ? nullptr : &args_.cache->lengths; }
    int64_t offset() const { return offset_; }
    int64_t start() const { return start_; }
    /** Whether the caller said where query 0 stands: it counts from what the cache holds otherwise. */
    bool offset_given() const { return offset_given_; }

    /** An error if some query attends to a token that the ring has overwritten. */
    Status check_ring(const MaskProgram &program, const AttentionShape &shape, Call &call) const;

private:
    Status fill_numbers(const AttentionShape &shape);

    attune_attention_args args_ = {};
    const attune_tensor *given_offsets_ = nullptr;
    Scratch<int64_t> lengths_, offsets_, shifted_;
    attune_tensor lengths_tensor_ = {}, offsets_tensor_ = {}, shifted_tensor_ = {};
    bool uniform_ = false; // all items have one offset and one length
    bool offset_given_ = false;
    int64_t offset_ = 0, start_ = 0;
};

} // namespace attune::runtime
