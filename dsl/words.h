// Numbers of 16 bits read two at a time, as words of 32 bits.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** For `first`, lane i of which reads element i of some 16-bit elements that lie side by side, in whole vectors: elements 2i, in the lower
 * half, and 2i + 1, as u32. So a vector reads as many words from where `first` does. Only in pipelines that lower_words() was called for.
 * Halide itself has no load of another type than the buffer's. */
Halide::Expr words_from(const Halide::Expr &first);

/** What words_from() was given, if `words` is it, as it is before lower_words(); else nullptr. */
const Halide::Expr *words_source(const Halide::Expr &words);

/** For vectors of words, each of two 16-bit elements: what lies at the same place of both, the first's below, as u32. Of each eight
 * elements the first four make a vector's next lanes (`half` 0), or the last four (1), which is one instruction, beside which products go
 * on; the even ones, or the odd ones, take the products' own units on Zen 4. Only in pipelines that lower_words() was called for. */
Halide::Expr pairs_of_words(const Halide::Expr &first, const Halide::Expr &second, const Halide::Expr &half);

/** Where element `element` is among vectors of so many pairs that pairs_of_words() makes: the vector, and the lane. */
struct PairedElement {
    Halide::Expr vector, lane;
    static constexpr int in_order = 4; // so many elements lie side by side

    PairedElement(const Halide::Expr &element, int lanes);
};

/** The upper 16 bits of a u32. Of vectors of 32 and their multiples, which AVX-512 has two registers for, that is one permutation, rather
 * than shifts, and a conversion, of each. Interleaved with those of others, they are words. Only in pipelines that
 * lower_words() was called for. */
Halide::Expr upper_half_of(const Halide::Expr &word);

/** The elements of bf16 in words, as f32: those in the lower halves (`half` 0), or in the upper (1). */
Halide::Expr bfloat16_of_words(const Halide::Expr &words, const Halide::Expr &half);

/** Where element `element` is among vectors that bfloat16_of_words() makes of words, lower halves and upper in turn: the vector, and the
 * lane. */
struct SplitElement {
    Halide::Expr vector, lane;

    SplitElement(const Halide::Expr &element, int lanes);
};

/** The element in a lane of one of these vectors. */
Halide::Expr split_element(const Halide::Expr &vector, const Halide::Expr &lane, int lanes);

/** Turns words_from() into loads, and pairs_of_words() and upper_half_of() into instructions. */
void lower_words(Halide::Pipeline pipeline);

} // namespace attune::dsl
