// The two parts of the demonstration. Each prints its result, and is false where something failed or a number is wrong.
#pragma once

#include "terminal.h"

namespace demo {

/** Six tokens of three channels: the attention weights and outputs in full. */
bool show_sentence(const Terminal &terminal);

/** Batch 1, 8 heads, 1024 tokens, D 64: the error and rate of two schedules. */
bool show_realistic_shape(const Terminal &terminal);

} // namespace demo
