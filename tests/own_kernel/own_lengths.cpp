// A mask in C++ that reads key lengths and a parameter: all keys of an item but its last ones.
#include "generators/attention.h"

class OwnLengths : public attune::generators::AttentionGenerator<OwnLengths> {
public:
    std::optional<attune::dsl::Mask> compiled_mask() {
        return attune::dsl::Mask([this](const attune::dsl::Cell &at) { return at.key < lengths(at.batch) - params(0); });
    }
};

HALIDE_REGISTER_GENERATOR(OwnLengths, own_lengths)
