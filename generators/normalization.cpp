// Layer norm, RMS norm, and the sum of rows that they follow.
#include "dsl/normalization.h"
#include "generators/bind.h"
#include "schedules/passes.h"

namespace attune::generators {

class Normalization : public Halide::Generator<Normalization> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "vectorized"};
    GeneratorParam<Halide::Type> dtype{"dtype", Halide::Float(32)}; // of x and y
    GeneratorParam<dsl::NormKind> kind{"kind", dsl::NormKind::layer, {{"layer", dsl::NormKind::layer}, {"rms", dsl::NormKind::rms}}};
    Input<Buffer<void, 2>> x{"x"}; // (channel, row)
    Input<Buffer<float, 1>> weight{"weight"};
    Input<Buffer<float, 1>> bias{"bias"};
    Input<float> epsilon{"epsilon"};
    Output<Buffer<void, 2>> y{"y"};

    void configure() { x.set_type(dtype), y.set_type(dtype); }

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target(), dtype);
        const auto &schedule = known(schedules::norm_schedules(), schedule_name, get_target());
        const Halide::Expr channels = x.dim(0).extent();
        norm = dsl::norm(kind, {x, weight, bias, channels, epsilon, dtype}, schedule.shape(machine));
        y = norm.y;
        schedule.apply(norm, machine);
        rows_of(x, channels), rows_of(y, channels), rows_of(weight, channels), rows_of(bias, channels);
        y.dim(1).set_bounds(0, x.dim(1).extent());
    }

    void schedule() { schedules::add_passes(get_pipeline(), norm, parameter_of(x).name(), schedules::machine(get_target(), dtype)); }

private:
    dsl::Norm norm;
};

class RowSum : public Halide::Generator<RowSum> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "vectorized"};
    GeneratorParam<Halide::Type> dtype{"dtype", Halide::Float(32)};
    Input<Buffer<void, 2>> a{"a"}; // (channel, row)
    Input<Buffer<void, 2>> b{"b"};
    Output<Buffer<void, 2>> y{"y"};

    void configure() { a.set_type(dtype), b.set_type(dtype), y.set_type(dtype); }

    void generate() {
        const auto &schedule = known(schedules::row_sum_schedules(), schedule_name, get_target());
        const dsl::RowSum declared = dsl::row_sum(a, b, dtype);
        y = declared.y;
        schedule.apply(declared, schedules::machine(get_target()));
        for (auto *buffer : {&a, &b})
            rows_of(*buffer, y.dim(0).extent()), buffer->dim(1).set_bounds(0, y.dim(1).extent());
        rows_of(y, y.dim(0).extent());
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::Normalization, normalization)
HALIDE_REGISTER_GENERATOR(attune::generators::RowSum, row_sum)
