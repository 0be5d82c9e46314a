// Attention: see semantics in the README.
#include "generators/attention_cpu.h"

namespace attune::generators {

class Attention : public CpuAttentionGenerator<Attention> {};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::Attention, attention)
