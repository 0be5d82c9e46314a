// The textual mask language as Halide predicates.
#pragma once

#include <optional>
#include <string>

#include <Halide.h>

#include "dsl/mask.h"

namespace attune::generators {

/** The mask of the text; none for "none" or "". `queries` and `keys` are N and M; `offsets` (batch) serves the terms that name no
 * alignment; `params` (index) holds the named parameters, in order of appearance. Throws Halide::CompileError with a sentence that gives
 * the column on a bad text. */
std::optional<dsl::Mask> mask_from_text(const std::string &text, const Halide::Expr &queries, const Halide::Expr &keys,
                                        const Halide::Func &offsets, const Halide::Func &params);

} // namespace attune::generators
