// Softmax and log-softmax of rows.
#include "dsl/softmax.h"

#include "generators/bind.h"

namespace attune::generators {

class Softmax : public Halide::Generator<Softmax> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "vectorized"};
    GeneratorParam<bool> log{"log", false};
    Input<Buffer<float, 2>> x{"x"}; // (i, row)
    Input<float> temperature{"temperature"};
    Output<Buffer<float, 2>> y{"y"};

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target());
        const auto &schedule = known(schedules::softmax_schedules(), schedule_name);
        const Halide::Expr extent = x.dim(0).extent();
        const dsl::Softmax declared = dsl::softmax(x, extent, temperature, {log, schedule.shape(machine, 0, extent)});
        y = declared.result;
        schedule.apply(declared, machine);
        rows_of(x, extent), rows_of(y, extent);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::Softmax, softmax)
