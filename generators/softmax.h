// The generator of softmax, log-softmax and log-sum-exp over one axis.
#pragma once

#include "dsl/softmax.h"
#include "generators/bind.h"
#include "schedules/passes.h"
#include "schedules/table.h"

namespace attune::generators {

template <typename T> class SoftmaxGenerator : public Halide::Generator<T> {
public:
    template <typename Value> using Parameter = Halide::GeneratorParam<Value>;
    template <typename Value> using Input = Halide::GeneratorInput<Value>;
    template <typename Value, int rank> using Buffer = Halide::Buffer<Value, rank>;
    using Halide::Generator<T>::get_pipeline, Halide::Generator<T>::get_target;

    Parameter<std::string> schedule_name{"schedule", "vectorized"};
    Parameter<dsl::SoftmaxKind> kind{"kind",
                                     dsl::SoftmaxKind::softmax,
                                     {{"softmax", dsl::SoftmaxKind::softmax},
                                      {"log_softmax", dsl::SoftmaxKind::log_softmax},
                                      {"log_sum_exp", dsl::SoftmaxKind::log_sum_exp}}};
    Parameter<bool> columns{"columns", false};                 // whether another axis than i is contiguous
    Parameter<Halide::Type> dtype{"dtype", Halide::Float(32)}; // of x, and of y but for log_sum_exp
    Input<Buffer<void, 3>> x{"x"};                             // (column, i, row)
    Input<Buffer<uint8_t, 3>> mask{"mask"};
    Input<int32_t> use_mask{"use_mask"};
    Input<float> temperature{"temperature"};
    Halide::GeneratorOutput<Buffer<void, 3>> y{"y"}; // of log_sum_exp i has extent 1

    void configure() { x.set_type(dtype), y.set_type(result_type()); }

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target(), dtype);
        const auto &schedule =
            known(columns ? schedules::softmax_columns_schedules() : schedules::softmax_schedules(), schedule_name, get_target());
        dsl::Softmax declared = dsl::softmax(inputs(), {kind, schedule.shape(machine, inputs())});
        declared.special.push_back(use_mask != 0 && mask.dim(columns ? 0 : 1).stride() == 1);
        declare_more(declared);
        y = declared.result;
        declared.in_place = address_of(x) == address_of(y);
        schedule.apply(declared, machine);
        softmax = declared;
        bind();
    }

    void schedule() { schedules::add_passes(get_pipeline(), softmax, schedules::machine(get_target(), dtype)); }

protected:
    dsl::SoftmaxInputs inputs() { return {x, mask, use_mask, x.dim(1).extent(), x.dim(2).extent(), temperature, result_type()}; }

    /** May put another Func in the result's place, which is that for what it doesn't do itself. */
    virtual void declare_more(dsl::Softmax &) {}

private:
    dsl::Softmax softmax;

    Halide::Type result_type() const { return kind == dsl::SoftmaxKind::log_sum_exp ? Halide::Float(32) : dtype.value(); }

    // The reference takes any strides; the others ask for 1 on the axis their vectors run along.
    void bind() {
        const bool vectors = schedule_name.value() != "reference", one = kind == dsl::SoftmaxKind::log_sum_exp;
        const Halide::Expr extent = x.dim(1).extent(), width = columns || !vectors ? y.dim(0).extent() : Halide::Expr(1);
        auto shape = [&](auto &buffer, const Halide::Expr &elements) {
            buffer.dim(0).set_bounds(0, width).set_stride(vectors && columns ? Halide::Expr(1) : Halide::Expr());
            buffer.dim(1).set_bounds(0, elements);
            buffer.dim(2).set_bounds(0, y.dim(2).extent());
        };
        shape(x, extent), shape(mask, extent), shape(y, one ? Halide::Expr(1) : extent);
        mask.dim(0).set_stride(Halide::Expr());
        if (vectors && !columns) x.dim(1).set_stride(1);
        if (vectors && !columns && !one) y.dim(1).set_stride(1);
    }
};

} // namespace attune::generators
