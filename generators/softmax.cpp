// Softmax, log-softmax and log-sum-exp over one axis.
#include "generators/softmax.h"

namespace attune::generators {

class Softmax : public SoftmaxGenerator<Softmax> {};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::Softmax, softmax)
