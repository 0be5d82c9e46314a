// The parts the declaration of attention is made of, each a file of its own.
#pragma once

#include "dsl/attention.h"

namespace attune::dsl {

KeyRanges key_ranges(const AttentionInputs &in, const Blocking &blocking);
Operands operands(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Halide::Expr &padded_value_dim);
Scores scores(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Operands &operands);
BlockState block_state(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Operands &operands,
                       const Scores &scores);
Fold fold(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const BlockState &partial,
          const Halide::Expr &padded_value_dim);

/** The query a row of a tile stands for. Rows past the last query repeat it; what they give is never stored. */
Halide::Expr query_of(const AttentionInputs &in, const Blocking &blocking, const Halide::Expr &row);

/** The keys a tile, or a task, needs of the block, as conditions on an RDom over the block's keys: keys [begin, begin + count). */
void only_keys_of_tile(Halide::RDom &domain, const KeyRanges &ranges, const Halide::Expr &begin, const Halide::Expr &count);
void only_keys_of_task(Halide::RDom &domain, const KeyRanges &ranges, const Halide::Expr &begin, const Halide::Expr &count);

} // namespace attune::dsl
