// The benchmark's cases: names and shapes as in peers.py, so that rates can be set side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attune/attune.h"

namespace attune::bench {

struct Case {
    std::string name;
    int64_t batch, query_heads, kv_heads, queries, keys, head_dim, value_dim;
    std::string mask = "none";
    bool counts_half = false;       // peers count N M / 2 pairs for causal, a little less than are attended
    int64_t documents = 0;          // of equal length, packed, for the mask's term `documents`
    int64_t key_length = 0;         // keys that count in every batch item; 0: all
    bool tensor = false;            // a boolean tensor, the same for all heads, that allows every other cell at random
    attune_type dtype = ATTUNE_F32; // of all four tensors
    int64_t copies = 1;             // of the tensors, timed in turn; memory-bound cases have as many as the cache demands

    /** Bytes of K and V, each counted once. */
    double kv_bytes() const;
    /** Bytes of Q, K, V and the output. */
    double tensor_bytes() const;
    /** Whether memory limits it: each byte of K and V serves so few queries (N Hq / Hkv of them, 16 at most, half as many
     * operations a byte) that reading it takes longer than computing with it on any x86 core. */
    bool memory_bound() const { return queries * query_heads <= 16 * kv_heads; }
};

/** As peers have them. */
const std::vector<Case> &named_cases();
/** Every kind of mask at 4096 tokens, and none. */
const std::vector<Case> &mask_cases();
/** The same tensors without mask, documents or lengths. */
Case unmasked_case(Case c);
/** One of either. */
std::optional<Case> find_case(const std::string &name);

/** Pairs (query, key) attended in one head. The mask must be one the runtime accepts for this shape. */
double attended_pairs(const Case &c);

/** Whether the boolean tensor of a case allows the cell. */
bool tensor_allows(int64_t query, int64_t key);

/** Operations of one call: 2 B Hq pairs (D + Dv), where pairs are those attended, or N M / 2 where the case counts half; with a tensor
 * all that the mask beside it leaves, since every block of it has cells to compute. */
double useful_flops(const Case &c);

} // namespace attune::bench
