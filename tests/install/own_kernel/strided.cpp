// A mask written in C++: every other key.
#include "generators/attention.h"

class Strided : public attune::generators::AttentionGenerator<Strided> {
public:
    std::optional<attune::dsl::Mask> compiled_mask() {
        return attune::dsl::Mask([](const attune::dsl::Cell &cell) { return cell.key % 2 == 0; });
    }
};

HALIDE_REGISTER_GENERATOR(Strided, strided)
