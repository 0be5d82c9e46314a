// How the vectors of a value are dealt to passes.
#pragma once

#include <vector>

#include <Halide.h>

namespace attune::dsl {

/** Passes of `at_once` vectors each, one after the other from vector `first` on: `count` of them, or none. The last of these vectors is the
 * rest, if they take that. */
struct ValuePasses {
    int at_once;
    Halide::Expr first, count;
    bool take_rest = false;
};

/** Whether passes of so many vectors at once are equal ones, of several lines each. */
bool are_equal_passes(int most, int vectors_per_line);

/** Passes over `whole` vectors of a value, of `most` at once. If a line, of so many vectors, has fewer, they are equal, and as few as can
 * be: half a value read is waited for nearly as long as all of it. All then begin with a line, for all but the last are of whole lines, of
 * equally many, and the last takes what is left; that they end with the value isn't seen from their bounds. Else they are of `most`, and of
 * half, and so on, of what is left. `whole` and `most` are multiples of `depth`, and so is every pass.
 *
 * `has_rest`, for equal passes of depth 1: whether channels that fill no vector follow. Where one pass has room for them, that takes them
 * (measured on Granite Rapids: 0.89 to 0.97 of the time), else they are read after the others (with the last of several the time was 0.96
 * to 1.06 of that). */
std::vector<ValuePasses> value_passes(const Halide::Expr &whole, int most, int vectors_per_line, int depth = 1,
                                      const Halide::Expr &has_rest = Halide::Internal::const_false());

} // namespace attune::dsl
