// Attention on a CUDA device without tensor cores.
#include "generators/cuda/attention_tiles.h"

namespace attune::generators {

class AttentionSimt : public TileAttentionGenerator<AttentionSimt> {};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::AttentionSimt, attention_simt)
