// Memory that is asked for before it is read.
#pragma once

#include <string>
#include <vector>

#include <Halide.h>

namespace attune::dsl {

constexpr int bytes_per_line = 64; // of x86's caches: what one request brings

/** How near memory is asked to come: into the first-level cache, or no nearer than the second, where so much is read in the meantime that
 * the first wouldn't hold it. */
enum class Nearness { first_level, second_level };

/** `now`; and the memory that `later`, a load or a cast of one, would read is asked for, wherever it lies, unless `wanted` is known not to
 * hold when the code is lowered: what was asked for with its line need not be asked for again. With it goes what lies so many elements
 * (i64) from there, for each of `beside` that isn't known to be 0 then. Only in pipelines that lower_prefetches() was called for. Halide's
 * own prefetch() fetches whole boxes, which tables of pages and of panels make boundless, and compiles to prefetchnta, which is slower than
 * none (measured on an Emerald Rapids core: 45 % of the read bandwidth, 71 % with none and 87 % with prefetcht0). */
Halide::Expr with_prefetch(const Halide::Expr &now, const Halide::Expr &later, const Halide::Expr &wanted = Halide::Internal::const_true(),
                           Nearness nearness = Nearness::first_level, const std::vector<Halide::Expr> &beside = {});

/** The same, into the first-level cache where `near` holds, and else no nearer than the second. */
Halide::Expr with_prefetch_near_where(const Halide::Expr &near, const Halide::Expr &now, const Halide::Expr &later);

/** `now`; and the memory at an address (u64) is asked for, as by with_prefetch(). */
Halide::Expr with_prefetch_at(const Halide::Expr &now, const Halide::Expr &address,
                              const Halide::Expr &wanted = Halide::Internal::const_true(), Nearness nearness = Nearness::first_level);

/** Asks for the memory of an element of a buffer, in code that is lowered. */
Halide::Internal::Stmt prefetch(const std::string &buffer, const Halide::Expr &index, int element_bytes, Nearness nearness);

/** The address (u64) that a statement asks for, which lower_prefetches() or prefetch() made, undefined if it is another; and that statement
 * for another address. */
Halide::Expr asked_address(const Halide::Internal::Evaluate *statement);
Halide::Internal::Stmt ask_elsewhere(const Halide::Internal::Evaluate *statement, const Halide::Expr &address);

/** Turns with_prefetch() and with_prefetch_at() into instructions. */
void lower_prefetches(Halide::Pipeline pipeline);

} // namespace attune::dsl
