// Elements that lie further on in a buffer than Halide's axes, of 32 bits each, could say.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** `loading`, one load or a cast of one, of what lies so many elements (i64) further on in memory. Only in pipelines that lower_displaced()
 * was called for. So where a row of a buffer begins, a sum of products by strides, is computed once and kept in a table, rather than at
 * each use: tables of pages, places and strides were a third of the instructions of decoding. */
Halide::Expr displaced(const Halide::Expr &loading, const Halide::Expr &elements);

/** Turns displaced() into loads; before lower_prefetches() and lower_words(), which look at them. */
void lower_displaced(Halide::Pipeline pipeline);

} // namespace attune::dsl
