// A mask, a score and a position of a user's own, in C++.
#include "generators/attention.h"

class OwnLambda : public attune::generators::AttentionGenerator<OwnLambda> {
public:
    std::optional<attune::dsl::Mask> compiled_mask() {
        return attune::dsl::Mask([](const attune::dsl::Cell &at) { return (at.query / 16 + at.key / 24 + at.head + at.batch) % 3 == 0; });
    }

    std::optional<attune::dsl::ScoreFunction> compiled_score() {
        return [](const Halide::Expr &score, const attune::dsl::Cell &at) {
            return 0.5f * score - 0.02f * Halide::cast<float>(Halide::abs(at.query - at.key) * (at.head + 1));
        };
    }

    // Channels of rows at odd positions change sign.
    std::optional<attune::dsl::Positioning> compiled_positioning() {
        return [](const attune::dsl::PositionedInput &row, const Halide::Expr &dim) {
            Halide::Expr channel = Halide::cast<float>(row.channel(dim));
            return Halide::select(row.position % 2 == 1, -channel, channel);
        };
    }
};

HALIDE_REGISTER_GENERATOR(OwnLambda, own_lambda)
