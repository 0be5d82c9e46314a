// The merge of the softmax states of chunks of keys into that of all keys: what split-KV decoding ends with.
#pragma once

#include <functional>
#include <vector>

#include <Halide.h>

namespace attune::dsl {

/** States as dsl/softmax.h has them, of chunks 0 to count - 1 of the keys. A state is kept as elements: the sum of its weights, and of the
 * weights times each channel of the values. */
struct ChunkStates {
    std::vector<Halide::Var> elements, rows; // axes: of a state, and those that say whose it is
    std::function<Halide::Expr(const Halide::Expr &chunk)> maximum;
    std::function<Halide::Expr(const Halide::Expr &chunk)> element;
    Halide::Expr count;
    Halide::Expr first, last; // with several at once: chunks outside of these have no key, and needn't be looked at
    int at_once = 1;          // so many are taken together, where it isn't 1: those past the last repeat it, and count for nothing
    Halide::Expr base2_scale; // of scores, as relative_weight takes it
};

struct ChunkMerge {
    Halide::Func joint;          // (rows ...): the maximum over all chunks
    Halide::Func factor;         // (chunk, rows ...): e^((maximum of the chunk - joint) / T), 0 only for a chunk of no key
    Halide::Func merged;         // (elements ..., rows ...): the sum over the chunks, each times its factor
    Halide::RDom chunks, merges; // of joint and merged: x is the chunk, or with several at once its place among them
};

ChunkMerge merge_chunks(const ChunkStates &states);

} // namespace attune::dsl
