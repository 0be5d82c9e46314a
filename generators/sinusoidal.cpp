// The sinusoidal table of positions.
#include "dsl/position.h"

#include "generators/bind.h"

namespace attune::generators {

class Sinusoidal : public Halide::Generator<Sinusoidal> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "vectorized"};
    Input<double> base{"base"};
    Input<int32_t> width{"width"}, offset{"offset"};
    Output<Buffer<float, 2>> y{"y"}; // (dim, token)

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target());
        const auto &schedule = known(schedules::sinusoidal_schedules(), schedule_name);
        const dsl::Sinusoidal declared = dsl::sinusoidal(width, base, offset);
        y = declared.table;
        schedule.apply(declared, machine);
        rows_of(y, width);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::Sinusoidal, sinusoidal)
