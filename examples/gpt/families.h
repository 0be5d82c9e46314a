// The families of checkpoints: what each calls its tensors and its sizes.
#pragma once

#include "checkpoint.h"
#include "decoder.h"

namespace gpt {

/** GPT-2's: learned positions, layer norm, GELU; weights stored as [in, out]. */
Network load_gpt2(const Checkpoint &checkpoint, attune_type dtype);

/** Llama's and Mistral's: rotary positions, grouped heads, RMS norm, SwiGLU; a window of keys where the configuration has one. */
Network load_llama(const Checkpoint &checkpoint, attune_type dtype);

/** By the configuration's model_type. */
Network load_network(const Checkpoint &checkpoint, attune_type dtype);

/** The tokens that end a text: eos_token_id of the configuration, one or several; none where it has none. */
std::vector<int32_t> end_tokens(const Checkpoint &checkpoint);

} // namespace gpt
