// The textual languages as the values of generator parameters.
//
// Halide's command line cuts `name=value` at every "=", so attune_add_kernel writes ":" for it: "rotary(half, base:500000)". Both mean the
// same here.
#pragma once

#include <string>

#include "text/mask.h"
#include "text/position.h"
#include "text/score.h"

namespace attune::generators {

/** The parsed text; "" is none. Each throws Halide::CompileError with a sentence that gives the column on a bad text. */
text::Mask mask_parameter(const std::string &text);
text::Score score_parameter(const std::string &text);
text::Position position_parameter(const std::string &text);

} // namespace attune::generators
