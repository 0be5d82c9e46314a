// Softmax of rows that the threads that share one hold in registers: each element is read once and weighed once.
#pragma once

#include <Halide.h>

#include "dsl/row_share.h"
#include "dsl/softmax.h"

namespace attune::dsl {

/** The least temperature that it is for: its reciprocal is an ordinary float. */
constexpr float least_held_temperature = 1e-37f;

/** A row has so many whole vectors as fit. Threads that have none hold scores of weight 0, and those past the last row do what its own do.
 * Every thread has a row's maximum and sum: the warps join theirs by shuffles (dsl/warp.h), and several warps those of each in shared
 * memory. Not for log-sum-exp. */
struct HeldSoftmax {
    SoftmaxKind kind;
    RowShare share;
    Halide::Func score;       // (element of a vector, vector of a thread, thread, row), as are all with elements
    Halide::Func own_maximum; // (thread, row): of a thread's own
    Halide::Func warp_maximum, maximum;
    Halide::Func weight; // not yet normalised
    Halide::Func own_sum, warp_sum, sum;
    Halide::Func finish;     // (thread, row): as Softmax's
    Halide::Func own_result; // as elements
    Halide::Func result;     // (column, i, row): of the only column
};

/** `in` as for softmax(), of one column; no mask is looked at. */
HeldSoftmax held_softmax(const SoftmaxInputs &in, SoftmaxKind kind, const RowShare &share);

/** Softmax of rows of any length, which are read twice: each thread goes through its elements with the largest so far and the sum of
 * weights relative to it (online softmax, Milakov and Gimelshein, arXiv 1805.02867), and when all know the row's, once more for the result.
 * `share.vectors` are read at once. Else as HeldSoftmax. */
struct OnlineSoftmax {
    SoftmaxKind kind;
    RowShare share;
    struct Part {
        RowShare share;     // `vectors` of them at once
        Halide::RDom steps; // over the numbers of `state`, and over the part
        Halide::Func score; // (element of a vector, vector, thread, row, step)
    };
    std::vector<Part> parts; // of a row: `share.vectors` of every thread at once, as long as there are so many, and the rest
    Halide::Func state;      // (number, thread, row), updated over each part
    Halide::Func own_maximum, warp_maximum, maximum; // (thread, row)
    Halide::Func own_sum, warp_sum, sum, finish;
    Halide::Func result; // (column, i, row)
};

OnlineSoftmax online_softmax(const SoftmaxInputs &in, SoftmaxKind kind, const RowShare &share);

} // namespace attune::dsl
