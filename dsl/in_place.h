// Elements that are read where a copy of them was taken from.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** The address (u64) of what `loading`, a load or a cast of one, reads. Only in pipelines that lower_in_place() was called for. */
Halide::Expr address_of(const Halide::Expr &loading);

/** `copied`, a load of a copy's element, read as far from the address `origin` (u64) as the element is from the copy's first, whose indices
 * are 0: by its index, or so many elements (i64) where the index has terms that are 0 and aren't known to be, which cost registers. There
 * the copy is, or what it would be a copy of: what lies as the copy does needn't be copied then, and the loops over both are the same. Only
 * in pipelines that lower_in_place() was called for. */
Halide::Expr read_in_place(const Halide::Expr &copied, const Halide::Expr &origin, const Halide::Expr &element = {});

/** Turns address_of() and read_in_place() into addresses and loads; after all passes that simplify, which would drop what a load's address
 * is. */
void lower_in_place(Halide::Pipeline pipeline);

} // namespace attune::dsl
