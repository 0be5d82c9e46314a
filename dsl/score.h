// What happens to a score between the dot product and softmax, in the order semantics fix: soft cap, then additive biases.
#pragma once

#include <functional>

#include <Halide.h>

#include "dsl/mask.h"

namespace attune::dsl {

/** A score of the user's own: from the score after soft cap and biases, and its place. */
using ScoreFunction = std::function<Halide::Expr(const Halide::Expr &score, const Cell &cell)>;

/** score + bias; where the bias is -inf the key is masked, whatever the score. */
Halide::Expr add_bias(const Halide::Expr &score, const Halide::Expr &bias);

/** The score where `allowed`, else the mark of a masked one: whatever the score held is gone. */
Halide::Expr mask_score(const Halide::Expr &score, const Halide::Expr &allowed);

/** ALiBi's slope of head h of H (Press et al., arXiv 2108.12409, section 3): 2^(-8 (h + 1) / H). Where H is no power of two, its authors'
 * published code gives the largest power of two below it, P, the slopes of P heads, and the others every second slope of 2 P. */
Halide::Expr alibi_exponent(const Halide::Expr &head, const Halide::Expr &heads); // its base 2 logarithm, exact in f32
Halide::Expr alibi_slope(const Halide::Expr &head, const Halide::Expr &heads);

/** The slopes of all heads. */
struct AlibiSlopes {
    Halide::Func slopes; // f32 (head)
};
AlibiSlopes alibi_slopes(const Halide::Expr &heads);

/** How T5 puts distances into buckets (Raffel et al., arXiv 1910.10683, section 2.1): half of a direction's buckets hold one distance
 * each, the others grow in powers up to max_distance, and the last one holds all beyond. */
struct T5Buckets {
    Halide::Expr buckets;       // at least 1; even where bidirectional
    Halide::Expr max_distance;  // above the number of buckets that hold one distance
    Halide::Expr bidirectional; // i32: not 0, half of the buckets are for keys after the query; 0, those all are in bucket 0
};

/** The bucket, 0 to buckets - 1, of a key `relative` positions after its query, as T5's published code has it. The edges are those of
 * exact arithmetic: a distance where the logarithms' ratio is whole opens a bucket. */
Halide::Expr t5_bucket(const Halide::Expr &relative, const T5Buckets &t5);

/** What depends on a head and on how far apart query and key stand: ALiBi's bias and T5's. All integers are i32. */
struct RelativeBiasInputs {
    Halide::Func slopes;        // f32 (head)
    Halide::Func t5_table;      // f32 (head, bucket): the learned bias of each bucket
    Halide::Func alibi_offsets; // (batch): key position of query 0, for ALiBi
    Halide::Func t5_offsets;    // and for T5
    Halide::Expr use_alibi, use_t5;
    T5Buckets t5;
    Halide::Expr keys; // M
};

struct RelativeBias {
    Halide::Func bucket; // i32 (distance, batch)
    Halide::Func result; // f32 (distance, head, batch): distance i - j + M - 1, for query i and key j
};

/** -slope |i + offset - j| + t5_table(bucket(j - i - offset)), either of the two where it is used. */
RelativeBias relative_bias(const RelativeBiasInputs &inputs);

} // namespace attune::dsl
