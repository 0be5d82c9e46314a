// ALiBi's slopes, by themselves and for attention.
#pragma once

#include "runtime/src/kernel/call.h"

namespace attune::runtime {

/** Writes the slopes of all heads to `slopes`, f32 [heads], innermost stride 1; `schedule` may be nullptr. */
Status make_alibi_slopes(const char *schedule, const attune_tensor &slopes, Call &call);

} // namespace attune::runtime
