// Where lowered code stores and loads, and how often.
#pragma once

#include <string>

#include <Halide.h>

namespace attune::schedules {

/** Where a statement first stores to one buffer, and where it first loads from another: indices, with its loops and names on the way there
 * put in, undefined where it doesn't; and the type of an element of the first. */
struct FirstAccesses {
    Halide::Expr store, load;
    Halide::Type type;
};
FirstAccesses first_accesses(const Halide::Internal::Stmt &s, const std::string &stored, const std::string &loaded);

/** How many passes of a loop over rows store them: where it runs to the end of a split, what lies past the axis is left out by conditions.
 * Throws Halide::CompileError where these don't say. */
Halide::Expr storing_passes(const Halide::Internal::For *loop);

/** The statement with its stores to one buffer to another instead, so many elements further down. A vector whose last lanes would be left
 * out is stored as a whole, as what is stored later or nothing lies behind: a load from there would wait for a masked store. It reaches
 * less than most_bytes_whole past the last element. Throws Halide::CompileError where a store isn't of elements side by side. */
constexpr int most_bytes_whole = 128;
Halide::Internal::Stmt redirected(const Halide::Internal::Stmt &s, const std::string &from, const std::string &to,
                                  const Halide::Expr &down);

} // namespace attune::schedules
