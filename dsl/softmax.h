// Softmax: whole rows at once, and the state whose fold over blocks of a row is softmax.
#pragma once

#include <vector>

#include <Halide.h>

#include "dsl/numeric.h"
#include "dsl/products.h"
#include "dsl/row_chunks.h"

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

/** e^((score - maximum) / T) for score <= maximum; `base2_scale` is log2(e) / T. 0 for a masked score, NaN for NaN. `type` and
 * `multiply_add` as in exp2_scaled. */
Halide::Expr relative_weight(const Halide::Expr &score, const Halide::Expr &maximum, const Halide::Expr &base2_scale,
                             const Halide::Type &type = Halide::Float(32), const MultiplyAdd &multiply_add = {});

/** `weight` of a score that isn't masked, kept above 0 where it underflows; 0 for a masked one, and for no other. What is infinite then
 * stays so, and isn't made NaN. */
Halide::Expr weight_above_zero(const Halide::Expr &score, const Halide::Expr &weight);

/** relative_weight, for its number of bf16 nearest to it: see exp2_scaled_to_bfloat16. */
Halide::Expr relative_weight_in_bfloat16(const Halide::Expr &score, const Halide::Expr &maximum, const Halide::Expr &base2_scale);

/** log2(e) / T. */
Halide::Expr base2_scale(const Halide::Expr &temperature);

/** ln sum e^(s_j / T) of a state: m / T + ln l. -inf for the identity. */
Halide::Expr log_sum_exp(const Halide::Expr &maximum, const Halide::Expr &sum, const Halide::Expr &temperature);

/** One axis of a tensor as kernels see it: i runs along the axis, `column` along one that is contiguous beside it, `row` over the rest. */
struct SoftmaxInputs {
    Halide::Func x;                        // f32, f16 or bf16 (column, i, row)
    Halide::Func mask;                     // u8 (column, i, row): whether the element counts; read iff use_mask
    Halide::Expr use_mask;                 // i32, zero or not
    Halide::Expr extent;                   // of i
    Halide::Expr rows;                     // extent of row
    Halide::Expr temperature;              // T > 0
    Halide::Type type = Halide::Float(32); // of the result, to which it is rounded once; of log_sum_exp f32
};

/** e^(x_i / T) / sum_j e^(x_j / T), its logarithm, or ln sum_j e^(x_j / T). */
enum class SoftmaxKind { softmax, log_softmax, log_sum_exp };

/** Softmax of whole rows. What is -inf, or doesn't count by the mask, has weight 0 (log: -inf), and a row of nothing else gives zeros (log
 * and log-sum-exp: -inf). A NaN makes its row NaN, except where the mask leaves out: those stay 0, and what is there changes nothing. */
struct Softmax {
    SoftmaxKind kind;
    Halide::Func score;                // (column, i, row): x, or -inf where it doesn't count
    Halide::Func lane_maximum;         // (column, lane, row): of the elements i = lane (mod lanes)
    std::vector<Halide::Func> maxima;  // as lane_maximum, each of half the lanes of the one before
    Halide::Func maximum;              // (column, row)
    Halide::Func weight;               // (column, i, row): e^((x_i - max) / T), not yet normalised; the sum reads it, and softmax
    Halide::Func lane_sum;             // (column, lane, row)
    std::vector<Halide::Func> sums;    // as maxima
    Halide::Func sum;                  // (column, row)
    Halide::Func reduced;              // (column, row), of log_softmax alone: the sum, and what scores are taken relative to
    Halide::Func finish;               // (column, row): 1 / sum, ln sum or the log-sum-exp; 0 for the first two where sum is 0. Beside ln
                                       // sum what scores are taken relative to, so that elements need no maximum
    Halide::Func result;               // (column, i, row); of log_sum_exp the same for every i
    Halide::Expr extent;               // of i
    Halide::Expr rows;                 // extent of row
    std::vector<RowChunk> chunks;      // over the row, `lanes` elements at a time: the stages of lane_maximum and lane_sum
    Halide::RDom lanes;                // over the lanes that are left
    Halide::Expr in_place;             // whether the result takes the place of x, at run time; false where nobody says
    std::vector<Halide::Expr> special; // conditions that are worth code of their own, the first that holds counts
};

/** How maxima and sums are made; rounding aside, it changes nothing. */
struct SoftmaxShape {
    int lanes = 1;  // partial results kept side by side
    int left = 1;   // lanes is this times a power of 2: they are halved until so many are left, and these taken in order
    int vector = 0; // lanes that are read at once, of what fills no `lanes`; 0: see row_chunks
    // If defined: while an element is weighed, that of so many rows further on is asked for; see dsl/prefetch.h.
    Halide::Expr rows_ahead = {};
    Halide::Expr asks_near = Halide::Internal::const_false(); // whether it is asked for into the first-level cache
    Rounding rounding = {};                                   // of results
    MultiplyAdd multiply_add = {};                            // of weights
    // Of sums. Weights of a long row that are alike, added up one after the other in f32, each round alike: of 70,000 the sum is 3e-4 off.
    Halide::Type sums = Halide::Float(32);
};

/** A temperature as scores are taken by it. */
struct SoftmaxScale {
    Halide::Expr temperature; // at most as much that log2(e) / T is an ordinary float
    Halide::Expr base2;       // log2(e) / T

    explicit SoftmaxScale(const Halide::Expr &temperature);
    /** How far the tempered score is below the tempered reference_score(): half_below() times 2 / T. (A division would take a fifth of the
     * time of log-softmax.) */
    Halide::Expr below(const Halide::Expr &score, const Halide::Expr &reference) const;

private:
    Halide::Expr twice_inverse, rest; // their product is 2 / T
};

/** Half of how far the score is below the reference_score(): in range whatever the two are. */
Halide::Expr half_below(const Halide::Expr &score, const Halide::Expr &reference);

/** What a sum of weights becomes: see Softmax::finish. Not of log-sum-exp. */
Halide::Expr finished(SoftmaxKind kind, const Halide::Expr &sum);

struct SoftmaxOptions {
    SoftmaxKind kind = SoftmaxKind::softmax;
    SoftmaxShape shape;
};

Softmax softmax(const SoftmaxInputs &inputs, const SoftmaxOptions &options);

} // namespace attune::dsl
