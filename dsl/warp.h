// Operations of a warp of 32 threads, as calls of extern functions with one value a thread. Nothing here says how they are done: for
// CUDA a pass over the PTX turns each call, or each family of calls, into the instruction of that name (generators/ptx).
//
// Fragments: a 16 x 8 tile of a matrix product lies in the registers of a warp; lane 4 g + q, 0 <= q < 4, 0 <= g < 8, holds elements r = 0
// .. 3, at row g + 8 (r / 2) and column 2 q + r % 2 (PTX ISA, "Matrix Fragments for mma.m16n8k16").
//
// They also shield numbers from the compiler, which assumes that there is no Inf or NaN, and narrows what a select reads to where it is
// chosen: a call it can't look into does neither.
#pragma once

#include <string>
#include <vector>

#include <Halide.h>

namespace attune::dsl::warp {

Halide::Expr call(Halide::Type type, const std::string &name, const std::vector<Halide::Expr> &arguments);

/** c + element r of a (16x16) times b (16x8), words of two bf16 or f16. `ahead` isn't read: it extends what the producers compute, so that
 * they run ahead of the product. */
Halide::Expr add_product(Halide::Type element, const Halide::Expr &c, const Halide::Expr &r, const std::vector<Halide::Expr> &a,
                         const std::vector<Halide::Expr> &b, const std::vector<Halide::Expr> &ahead = {});

/** c + element i of a (64x16) times b (16 x columns), by the four warps of a warpgroup, of which each has 16 rows: i = 4 t + r is element r
 * of tile t of 8 columns. Both lie in shared memory, in panels of lines of `line_bytes` bytes (dsl/swizzled_panels.h): a by rows, b by
 * columns. `a` and `b` are the words at which they begin. `ahead`: as above. */
Halide::Expr add_group_product(Halide::Type element, int columns, const Halide::Expr &c, const Halide::Expr &i, const Halide::Expr &a,
                               const Halide::Expr &b, int line_bytes, const std::vector<Halide::Expr> &ahead = {});

/** The same with 16 rows of a in each warp's registers, as mma has them, and b by rows; its panels are `panel_bytes` bytes apart. */
Halide::Expr add_group_product(Halide::Type element, int columns, const Halide::Expr &c, const Halide::Expr &i,
                               const std::vector<Halide::Expr> &a, const Halide::Expr &b, int line_bytes, int panel_bytes);

/** Register r of four 8x8 matrices of 16-bit elements in shared memory: `word` is the first word of the row this lane points to, lanes
 * 8 i .. 8 i + 7 to those of matrix i. Transposed: each matrix is. */
Halide::Expr load_matrices(const Halide::Expr &r, const Halide::Expr &word);
Halide::Expr load_matrices_transposed(const Halide::Expr &r, const Halide::Expr &word);

/** x of the lane whose number differs by `mask`. */
Halide::Expr shuffle_xor(const Halide::Expr &x, int mask);

/** Whether the condition holds in some lane. */
Halide::Expr any(const Halide::Expr &condition);

/** Two floats as a word of two bf16 or f16, each rounded to nearest even. */
Halide::Expr pack(Halide::Type element, const Halide::Expr &low, const Halide::Expr &high);

/** sum + 0 * word, in both halves: NaN where a half of `word` or `sum` isn't finite. */
Halide::Expr add_zero_times(Halide::Type element, const Halide::Expr &word, const Halide::Expr &sum);

/** IEEE 754 arithmetic and comparisons, none of them contracted or reordered; the maximum of a NaN and anything is NaN. */
Halide::Expr maximum(const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr larger(const Halide::Expr &a, const Halide::Expr &b);  // the maximum, but of a NaN and a number the number
Halide::Expr equal(const Halide::Expr &a, const Halide::Expr &b);   // i32, 0 or 1
Halide::Expr exceeds(const Halide::Expr &a, const Halide::Expr &b); // i32: whether a > b, or one of them is NaN
Halide::Expr add(const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr subtract(const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr multiply(const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr multiply_add(const Halide::Expr &a, const Halide::Expr &b, const Halide::Expr &c);

/** a ^ b, which is 0 ... most, as are a and b. Halide's own loses that. */
Halide::Expr exclusive_or(const Halide::Expr &a, const Halide::Expr &b, int most);

/** x, i32, of which the compiler then knows nothing: it moves no part of what is made of it out of a loop, where that would fill registers.
 */
Halide::Expr opaque(const Halide::Expr &x);

/** `a` where the condition, i32, isn't 0, else `b`. Both are computed. */
Halide::Expr choose(const Halide::Expr &condition, const Halide::Expr &a, const Halide::Expr &b);

/** 2^x, 1 / x and log2 x within 2 ulp, subnormals as 0. */
Halide::Expr exp2(const Halide::Expr &x);
Halide::Expr reciprocal(const Halide::Expr &x);
Halide::Expr log2(const Halide::Expr &x);

/** step < count, which the schedule sees to (schedules/cuda/shorten_steps.h). */
extern const char *const in_steps_name;
Halide::Expr in_steps(const Halide::Expr &step, const Halide::Expr &count);

} // namespace attune::dsl::warp
