// The tensors of a run of attention, by name.
#pragma once

#include "runtime/src/tensor/overlap.h"

namespace attune::runtime {

/** What a run writes beside `out`. */
NamedTensors outputs_beside_out(const attune_attention_args &args);

/** What it reads beside q, k, v and params. */
NamedTensors inputs_beside_rows(const attune_attention_args &args);

} // namespace attune::runtime
