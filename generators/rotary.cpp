// Rotary position embedding.
#include "dsl/position.h"
#include "generators/bind.h"
#include "schedules/passes.h"

namespace attune::generators {

class Rotary : public Halide::Generator<Rotary> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "vectorized"};
    GeneratorParam<dsl::RotaryLayout> layout{
        "layout", dsl::RotaryLayout::half, {{"half", dsl::RotaryLayout::half}, {"interleaved", dsl::RotaryLayout::interleaved}}};
    GeneratorParam<Halide::Type> dtype{"dtype", Halide::Float(32)}; // of x and y
    Input<Buffer<void, 4>> x{"x"};                                  // (dim, token, head, batch)
    Input<Buffer<float, 4>> table{"table"};                         // (pair, plane, token, batch)
    Output<Buffer<void, 4>> y{"y"};

    void configure() {
        x.set_type(dtype);
        y.set_type(dtype);
    }

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target(), dtype);
        const auto &schedule = known(schedules::rotary_schedules(), schedule_name, get_target());
        rotary = dsl::rotary(x, x.dim(0).extent(), x.dim(1).extent(), layout, table, table.dim(0).extent(), schedule.shape(machine));
        y = rotary.output;
        rotary.same_layout = x.dim(1).stride() == y.dim(1).stride() && x.dim(2).stride() == y.dim(2).stride();
        schedule.apply(rotary, machine);
        rows_of(x, x.dim(0).extent()), rows_of(table, table.dim(0).extent()), rows_of(y, x.dim(0).extent());
    }

    void schedule() { schedules::add_passes(get_pipeline(), rotary, parameter_of(x).name(), schedules::machine(get_target(), dtype)); }

private:
    dsl::Rotary rotary;
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::Rotary, rotary)
