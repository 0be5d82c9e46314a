// Facts that hold on some path through a kernel.
#pragma once

#include <functional>
#include <vector>

#include "control_flow.h"

namespace attune::ptx {

enum class Effect { none, sets, clears };
using EffectOf = std::function<Effect(size_t instruction)>;

/** By instruction: whether some path from the kernel's start to right before it passes an instruction that sets the fact, and after that
 * none that clears it. */
std::vector<char> true_before(const ControlFlow &flow, size_t instructions, const EffectOf &effect);

/** By instruction: whether some path from right after it reaches an instruction that sets the fact before one that clears it. */
std::vector<char> true_after(const ControlFlow &flow, size_t instructions, const EffectOf &effect);

} // namespace attune::ptx
