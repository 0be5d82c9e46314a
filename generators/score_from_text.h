// The textual score language, compiled into a kernel.
#pragma once

#include <string>

#include "dsl/attention/attention.h"

namespace attune::generators {

/** Compiles in what the text says: softcap's number becomes a constant; with alibi or t5 the relative biases are always read. Throws
 * Halide::CompileError with a sentence that gives the column on a bad text. */
void compile_score_text(const std::string &text, dsl::AttentionInputs &inputs);

} // namespace attune::generators
