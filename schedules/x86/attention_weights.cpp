// Attention weights for x86: a tile of queries at a time, side by side in a vector.
#include "dsl/axes.h"
#include "schedules/schedules.h"

namespace attune::schedules::x86 {

using namespace dsl::axes;
using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

void vectorized_weights(const dsl::AttentionWeights &w, const Machine &machine) {
    const int lanes = machine.float_lanes, keys_at_once = 8;
    const Var tokens("tokens"), in_tile("in_tile"), keys("keys"), in_keys("in_keys"), t("t"), all("all");
    Func result = w.result, asked = w.asked, maximum = w.maximum, sum = w.sum, dot = w.dot, allowed = w.allowed, query = w.query;
    Func part_sum = w.part_sum;

    result.split(token, tokens, in_tile, lanes, TailStrategy::GuardWithIf)
        .reorder(key, in_tile, tokens, head, batch)
        .vectorize(key, lanes, TailStrategy::GuardWithIf)
        .fuse(tokens, head, t)
        .fuse(t, batch, all)
        .parallel(all);
    // Rows past the last query are computed, from the last one's inputs, and never stored.
    for (Func f : {query, asked, maximum, sum, w.joined})
        f.compute_at(result, all).bound_extent(head, 1).bound_extent(batch, 1).vectorize(token, lanes, TailStrategy::GuardWithIf);
    maximum.update().reorder(token, w.keys).vectorize(token, lanes, TailStrategy::GuardWithIf);
    sum.update().reorder(token, w.parts).vectorize(token, lanes, TailStrategy::GuardWithIf);
    part_sum.compute_at(sum, w.parts).vectorize(token, lanes, TailStrategy::GuardWithIf);
    part_sum.update().reorder(token, w.keys_of_part).vectorize(token, lanes, TailStrategy::GuardWithIf);
    asked.split(key, keys, in_keys, keys_at_once, TailStrategy::GuardWithIf);
    for (Func f : {dot, allowed, w.score, w.biased})
        f.compute_at(asked, keys).vectorize(token, lanes, TailStrategy::GuardWithIf);
    dot.update().reorder(token, key, w.dims).vectorize(token, lanes, TailStrategy::GuardWithIf);
    allowed.update().reorder(token, w.intervals, key).vectorize(token, lanes, TailStrategy::GuardWithIf);
}

} // namespace attune::schedules::x86
