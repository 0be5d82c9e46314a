// A mask and a score of a user's own in C++, for a GPU: every `stride`th key, counted back from the query, and keys before the first token.
#include "generators/attention.h"

class OwnCudaLambda : public attune::generators::AttentionGenerator<OwnCudaLambda> {
public:
    std::optional<attune::dsl::Mask> compiled_mask() {
        return attune::dsl::Mask([this](const attune::dsl::Cell &at) {
            const Halide::Expr distance = at.query + offsets(at.batch) - at.key;
            return (distance >= 0 && distance % max(params(0), 1) <= (at.head + at.batch) % 2) || at.key < params(1);
        });
    }

    std::optional<attune::dsl::ScoreFunction> compiled_score() {
        return [](const Halide::Expr &score, const attune::dsl::Cell &at) {
            return 0.5f * score - 0.02f * Halide::cast<float>(Halide::abs(at.query - at.key) * (at.head + 1));
        };
    }
};

HALIDE_REGISTER_GENERATOR(OwnCudaLambda, own_cuda_lambda)
