// Positions added to the input.
#include "dsl/position.h"

#include "generators/bind.h"

namespace attune::generators {

class AddPositions : public Halide::Generator<AddPositions> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "vectorized"};
    GeneratorParam<Halide::Type> dtype{"dtype", Halide::Float(32)}; // of x and y
    Input<Buffer<void, 4>> x{"x"};                                  // (dim, token, head, batch)
    Input<Buffer<float, 4>> table{"table"};                         // (dim, plane, token, batch), one plane
    Output<Buffer<void, 4>> y{"y"};

    void configure() {
        x.set_type(dtype);
        y.set_type(dtype);
    }

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target());
        const auto &schedule = known(schedules::add_positions_schedules(), schedule_name, get_target());
        const dsl::AddPositions declared = dsl::add_positions(x, table);
        y = declared.output;
        schedule.apply(declared, machine);
        rows_of(x, x.dim(0).extent()), rows_of(table, x.dim(0).extent()), rows_of(y, x.dim(0).extent());
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::AddPositions, add_positions)
