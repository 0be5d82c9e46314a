// Softmax: whole rows at once, and the state whose fold over blocks of a row is softmax.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** The softmax state of a set of scores s_j with values v_j: m = max s_j, l = sum e^((s_j - m) / T), o = sum e^((s_j - m) / T) v_j.
 * States of disjoint sets merge into that of their union, so the state is a monoid: one block is the textbook form, many blocks are
 * online softmax (Milakov and Gimelshein, arXiv 1805.02867, algorithm 3), blocks in parallel are split-KV decoding. The identity is
 * m = -inf, l = 0, o = 0.
 *
 * These are the lanes in which a state is kept in one Func: first the two factors of the latest merge, which the others read. */
namespace state {
constexpr int kept_factor = 0;  // e^((m_old - m) / T): multiplies what the state held
constexpr int added_factor = 1; // e^((m_block - m) / T): multiplies what is merged in
constexpr int maximum = 2;
constexpr int sum = 3;
constexpr int output = 4; // and up: one lane a value channel
} // namespace state

/** `maximum`, or 0 where it is -inf: what scores are taken relative to, so that a set with no key gives 0 and not NaN. */
Halide::Expr reference_score(const Halide::Expr &maximum);

/** e^((score - maximum) / T) for score <= maximum; `base2_scale` is log2(e) / T. 0 for a masked score, NaN for NaN. */
Halide::Expr relative_weight(const Halide::Expr &score, const Halide::Expr &maximum, const Halide::Expr &base2_scale);

/** log2(e) / T. */
Halide::Expr base2_scale(const Halide::Expr &temperature);

/** ln sum e^(s_j / T) of a state: m / T + ln l. -inf for the identity. */
Halide::Expr log_sum_exp(const Halide::Expr &maximum, const Halide::Expr &sum, const Halide::Expr &temperature);

/** Softmax of whole rows: y_i = e^(x_i / T) / sum_j e^(x_j / T). -inf is a masked entry: weight 0, and a row of them gives zeros
 * (log: -inf). A NaN makes its row NaN. */
struct Softmax {
    Halide::Func lane_maximum; // (lane, row): of the elements i = lane (mod lanes)
    Halide::Func maximum;      // (row)
    Halide::Func weight;       // (i, row): e^((x_i - max) / T), not yet normalised
    Halide::Func lane_sum;     // (lane, row)
    Halide::Func sum;          // (row)
    Halide::Func result;       // (i, row)
    Halide::RDom chunks;       // over the row, `lanes` elements at a time
    Halide::RDom lanes;        // over the lanes
};

struct SoftmaxOptions {
    bool log = false; // x_i / T - logsumexp instead
    int lanes = 1;    // partial maxima and sums kept side by side; rounding aside, they change nothing
};

/** `x`: f32 (i, row), `extent` elements a row; T > 0. */
Softmax softmax(const Halide::Func &x, const Halide::Expr &extent, const Halide::Expr &temperature, const SoftmaxOptions &options);

} // namespace attune::dsl
