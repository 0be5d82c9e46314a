// How the threads of a block share rows, and tell each other what they found in them.
#pragma once

#include <functional>
#include <vector>

#include <Halide.h>

namespace attune::dsl {

/** A vector is elements of one thread that lie side by side; those of a row's threads follow one another, and after the last thread's first
 * one comes the first thread's second. */
struct RowShare {
    int threads; // of a row, a power of 2: of a warp, or several warps
    int vectors; // of a thread: at most, or at once
    int vector;  // elements of one
    int rows;    // of a block

    int elements() const { return threads * vectors * vector; }
    int warps() const { return threads > 32 ? threads / 32 : 1; }
};

using Join = std::function<Halide::Expr(const Halide::Expr &, const Halide::Expr &)>;

/** What `value` is of all a thread's elements (element of a vector, vector): neighbours first, so that few operations wait for one another.
 */
Halide::Expr joined_elements(const RowShare &share, const Join &value_of, const Join &join);

/** Defines `total` (thread, row), which is `own` of all threads of a row in each of them, by way of `of_warp`, which the warps tell each
 * other: lanes by shuffles, warps in shared memory. */
void join_threads(Halide::Func total, Halide::Func of_warp, const Halide::Func &own, const RowShare &share, const Join &join);

/** The larger of two; of NaN and a number the number. */
Halide::Expr larger(const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr added(const Halide::Expr &a, const Halide::Expr &b);

} // namespace attune::dsl
