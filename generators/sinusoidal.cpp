// The sinusoidal table of positions.
#include "dsl/position.h"

#include "generators/bind.h"

namespace attune::generators {

class Sinusoidal : public Halide::Generator<Sinusoidal> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "vectorized"};
    GeneratorParam<Halide::Type> dtype{"dtype", Halide::Float(32)}; // of the table
    Input<Buffer<int32_t, 2>> positions{"positions"};               // (token, batch)
    Input<double> base{"base"};
    Input<int32_t> width{"width"};
    Output<Buffer<void, 4>> table{"table"}; // (dim, plane, token, batch), one plane

    void configure() { table.set_type(dtype); }

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target());
        const auto &schedule = known(schedules::sinusoidal_schedules(), schedule_name, get_target());
        const dsl::Sinusoidal declared = dsl::sinusoidal(width, base, positions, dtype);
        table = declared.table;
        schedule.apply(declared, machine);
        positions.dim(0).set_stride(Halide::Expr());
        rows_of(table, width);
        table.dim(1).set_bounds(0, 1);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::Sinusoidal, sinusoidal)
