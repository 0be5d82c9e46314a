// Attention on tensor cores, by every schedule of its table.
#include "generators/cuda/attention_fragments.h"

namespace attune::generators {

class AttentionMma : public FragmentAttentionGenerator<AttentionMma> {};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::AttentionMma, attention_mma)
