// Attention: see semantics in the README.
#include "generators/attention.h"

namespace attune::generators {

class Attention : public AttentionGenerator<Attention> {};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::Attention, attention)
