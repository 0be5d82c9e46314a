// Numbers of 16 bits read two at a time, as words of 32 bits.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** For `first`, lane i of which reads element i of some 16-bit elements that lie side by side, in whole vectors: elements 2i, in the lower
 * half, and 2i + 1, as u32. So a vector reads as many words from where `first` does. Only in pipelines that lower_words() was called for.
 * Halide itself has no load of another type than the buffer's. */
Halide::Expr words_from(const Halide::Expr &first);

/** Turns words_from() into loads. */
void lower_words(Halide::Pipeline pipeline);

} // namespace attune::dsl
