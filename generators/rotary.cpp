// Rotary position embedding.
#include "dsl/position.h"

#include "generators/bind.h"

namespace attune::generators {

class Rotary : public Halide::Generator<Rotary> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "vectorized"};
    GeneratorParam<dsl::RotaryLayout> layout{
        "layout", dsl::RotaryLayout::half, {{"half", dsl::RotaryLayout::half}, {"interleaved", dsl::RotaryLayout::interleaved}}};
    Input<Buffer<float, 4>> x{"x"}; // (dim, token, head, batch)
    Input<double> base{"base"};
    Input<int32_t> rotary_dim{"rotary_dim"}, offset{"offset"};
    Output<Buffer<float, 4>> y{"y"};

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target());
        const auto &schedule = known(schedules::rotary_schedules(), schedule_name);
        const dsl::Rotary declared = dsl::rotary(x, layout, rotary_dim, base, offset);
        y = declared.output;
        schedule.apply(declared, machine);
        rows_of(x, x.dim(0).extent()), rows_of(y, x.dim(0).extent());
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::Rotary, rotary)
