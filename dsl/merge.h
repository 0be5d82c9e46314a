// The merge of two attention results over disjoint sets of keys into that over their union.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** The merge of two softmax states (dsl/softmax.h) that were finished: with log-sum-exps a and b their outputs have weights e^(a - c) and
 * e^(b - c), where c = ln(e^a + e^b) is the log-sum-exp of the union. A log-sum-exp of -inf is that of no key: the other result is the
 * merged one, bit for bit, and two of them give zeros and -inf. NaN in a log-sum-exp makes its row NaN. */
struct Merge {
    Halide::Func factors; // (token, lane, head, batch): see Lane
    Halide::Func output;  // (dim, token, head, batch)
    Halide::Func lse;     // (token, head, batch)

    /** What `factors` holds: the weights of the two outputs, `absent` for one of no key, and the log-sum-exp of the union. They are worked
     * out before anything is written, so that each output may be stored in the place of an input. */
    enum Lane { a_weight, b_weight, log_sum_exp, lanes };
    static constexpr float absent = -1; // its output isn't looked at
};

/** `a`, `b`: f32 (dim, token, head, batch). `a_lse`, `b_lse`: f32 (token, head, batch), natural logarithms. */
Merge merge(const Halide::Func &a, const Halide::Func &a_lse, const Halide::Func &b, const Halide::Func &b_lse);

} // namespace attune::dsl
