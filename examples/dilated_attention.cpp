// A mask written in C++: every fourth key back from the query (dilated, Longformer, arXiv 2004.05150, section 3.1). This is a generator
// source, compiled and run at build time by attune_add_kernel; own_mask_lambda.cpp runs the kernel it makes.
#include "generators/attention.h"

// README begins: lambda
class DilatedAttention : public attune::generators::AttentionGenerator<DilatedAttention> {
public:
    std::optional<attune::dsl::Mask> compiled_mask() {
        return attune::dsl::Mask([this](const attune::dsl::Cell &at) {
            const Halide::Expr back = at.query + offsets(at.batch) - at.key; // rows of q count from 0, whatever the offset
            return back >= 0 && back % 4 == 0;
        });
    }
};
HALIDE_REGISTER_GENERATOR(DilatedAttention, dilated_attention)
// README ends
