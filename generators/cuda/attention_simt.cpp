// Attention on a CUDA device without tensor cores.
#include "generators/cuda/attention_simt.h"

namespace attune::generators {

class AttentionSimt : public SimtAttentionGenerator<AttentionSimt> {};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::AttentionSimt, attention_simt)
