// The run-time parameters of a mask or a score that is written in C++: attune_add_kernel's PARAMS name them.
#pragma once

#include <optional>

#include <Halide.h>

#include "dsl/mask.h"
#include "dsl/score.h"

namespace attune::generators {

/** Throws Halide::CompileError where the mask or the score reads an element of `params` (a Func or an image of one index) outside of
 * 0 ... count - 1: no plan could give it a value. An index that isn't a number can't be checked. */
void check_parameters(const std::optional<dsl::Mask> &mask, const std::optional<dsl::ScoreFunction> &score, const std::string &params,
                      int count);

} // namespace attune::generators
