// Positions of tokens that follow one another, for the tables of positions on a GPU.
#include "dsl/position.h"

#include "generators/bind.h"

namespace attune::generators {

class TokenPositions : public Halide::Generator<TokenPositions> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "simt"};
    Input<int32_t> first{"first"};
    Output<Buffer<int32_t, 1>> positions{"positions"}; // (token)

    void generate() {
        const auto &schedule = known(schedules::token_positions_schedules(), schedule_name, get_target());
        const dsl::TokenPositions declared = dsl::token_positions(first);
        positions = declared.result;
        schedule.apply(declared, schedules::machine(get_target()));
        positions.dim(0).set_min(0);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::TokenPositions, token_positions)
