// The linear layer.
#include "dsl/linear.h"
#include "generators/bind.h"
#include "schedules/passes.h"

namespace attune::generators {

class Linear : public Halide::Generator<Linear> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "tiles"};
    GeneratorParam<Halide::Type> dtype{"dtype", Halide::Float(32)}; // of x, residual and y
    Input<Buffer<void, 2>> x{"x"};                                  // (term, row)
    Input<Buffer<void, 4>> weight{"weight"};                        // packed: see dsl/linear.h
    Input<Buffer<float, 1>> bias{"bias"};                           // of every column of the panels
    Input<Buffer<void, 2>> residual{"residual"};
    Input<int32_t> gated{"gated"};                       // 0 or 1
    Input<int32_t> activation{"activation"};             // an attune_activation
    Input<int32_t> rows_per_task{"rows_per_task"};       // what a thread takes at a time, where the schedule leaves it open
    Input<int32_t> columns_per_task{"columns_per_task"}; // likewise; no bit of y depends on them
    Output<Buffer<void, 2>> y{"y"};                      // (column, row)

    void configure() {
        for (auto *buffer : {&x, &residual})
            buffer->set_type(dtype);
        y.set_type(dtype);
        weight.set_type(weight_type());
    }

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target(), dtype);
        const auto &schedule = known(schedules::linear_schedules(), schedule_name, get_target());
        const Halide::Expr rows = x.dim(1).extent();
        const Halide::Expr terms = x.dim(0).extent(), panels = weight.dim(3).extent();
        const dsl::LinearInputs inputs = {x,     weight,     bias,          residual,         terms,         rows, panels,
                                          gated, activation, rows_per_task, columns_per_task, weight_type(), dtype};
        linear = dsl::linear(inputs, schedule.shape(machine));
        y = linear.y;
        schedule.apply(linear, machine);
        bind(rows, panels);
    }

    void schedule() { schedules::add_passes(get_pipeline(), linear, schedules::machine(get_target(), dtype)); }

private:
    dsl::Linear linear;

    Halide::Type weight_type() const {
        return dtype.value().is_bfloat() ? Halide::Type(Halide::UInt(32)) : Halide::Type(Halide::Float(32));
    }

    void bind(const Halide::Expr &rows, const Halide::Expr &panels) {
        const int lanes = dsl::packed_weight::panel_columns;
        rows_of(x, x.dim(0).extent()), rows_of(y, y.dim(0).extent()), rows_of(residual, y.dim(0).extent());
        rows_of(bias, panels * lanes), rows_of(weight, lanes);
        y.dim(1).set_bounds(0, rows), residual.dim(1).set_bounds(0, rows);
        weight.dim(1).set_min(0).set_stride(lanes), weight.dim(2).set_bounds(0, 1 + gated), weight.dim(3).set_min(0);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::Linear, linear)
