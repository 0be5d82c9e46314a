// What every attention generator shares: the kernel's arguments, and how they bind a declaration to a schedule.
//
// For a mask of your own, derive from AttentionGenerator, override compiled_mask(), and register it:
//
//     class Dilated : public attune::generators::AttentionGenerator<Dilated> {
//     public:
//         std::optional<attune::dsl::Mask> compiled_mask() {
//             return attune::dsl::Mask([](const attune::dsl::Cell &c) { return (c.query - c.key) % 4 == 0; });
//         }
//     };
//     HALIDE_REGISTER_GENERATOR(Dilated, dilated)
#pragma once

#include <optional>
#include <string>

#include <Halide.h>

#include "dsl/attention.h"
#include "dsl/axes.h"
#include "generators/bind.h"
#include "generators/mask_from_text.h"
#include "schedules/table.h"

namespace attune::generators {

/** The arguments that say which cells attend and how scores are made, shared by the kernels that compute scores.
 * Buffers are (channel, token, head, batch); masks and biases (key, query, head, batch), broadcast axes with stride 0. */
template <typename T> class ScoreGenerator : public Halide::Generator<T> {
public:
    Halide::GeneratorParam<std::string> schedule_name{"schedule", "flash"};
    Halide::GeneratorParam<std::string> mask_text{"mask", "none"};
    Halide::GeneratorParam<Halide::Type> dtype{"dtype", Halide::Float(32)}; // of q, k, v and out
    Halide::GeneratorParam<int> head_dim{"head_dim", 0};                    // D; 0: any
    Halide::GeneratorParam<int> value_dim{"value_dim", -1};                 // Dv; 0: any, -1: as head_dim

protected:
    using Tensor = Halide::GeneratorInput<Halide::Buffer<void, 4>>; // of type `dtype`: see configure()

    /** Sets the part of the inputs that doesn't depend on the kernel's own arguments. */
    template <typename Derived> static dsl::AttentionInputs score_inputs(Derived &g) {
        dsl::AttentionInputs in;
        in.query = g.query, in.key = g.key;
        in.queries = g.query.dim(1).extent(), in.keys = g.key.dim(1).extent();
        in.head_dim = extent_or(g.head_dim, g.query.dim(0).extent());
        in.heads_per_group = g.query.dim(2).extent() / g.key.dim(2).extent();
        in.intervals = {g.intervals, g.intervals.dim(1).extent(), in.queries};
        in.mask = g.compiled_mask();
        in.attend = g.attend, in.bias = g.bias;
        in.use_attend = g.use_attend, in.use_bias = g.use_bias;
        in.scale = g.scale, in.softcap = g.softcap, in.temperature = g.temperature;
        rows_of(g.query, in.head_dim), rows_of(g.key, in.head_dim);
        g.intervals.dim(0).set_bounds(0, 2).set_stride(1);
        g.attend.dim(0).set_stride(Halide::Expr()), g.bias.dim(0).set_stride(Halide::Expr()), g.offsets.dim(0).set_stride(Halide::Expr());
        return in;
    }

    /** The mask of `mask_text`, whose named parameters are params(0), params(1) ... in order of appearance. */
    template <typename Derived> static std::optional<dsl::Mask> text_mask(Derived &g) {
        Halide::Func offsets = g.offsets, params = g.params;
        return mask_from_text(g.mask_text, g.query.dim(1).extent(), g.key.dim(1).extent(), offsets, params);
    }
};

template <typename T> class AttentionGenerator : public ScoreGenerator<T> {
public:
    typename ScoreGenerator<T>::Tensor query{"query"}, key{"key"}, value{"value"};
    Halide::GeneratorInput<Halide::Buffer<int32_t, 4>> intervals{"intervals"}; // (2, count, query, batch): see dsl::KeyIntervals
    Halide::GeneratorInput<Halide::Buffer<int32_t, 1>> offsets{"offsets"};     // (batch): key position of query 0
    Halide::GeneratorInput<Halide::Buffer<int32_t, 1>> params{"params"};       // values of the mask's named parameters
    Halide::GeneratorInput<Halide::Buffer<uint8_t, 4>> attend{"attend"};
    Halide::GeneratorInput<Halide::Buffer<float, 4>> bias{"bias"};
    Halide::GeneratorInput<int32_t> use_attend{"use_attend"}, use_bias{"use_bias"};
    Halide::GeneratorInput<float> scale{"scale"}, softcap{"softcap"}, temperature{"temperature"};
    Halide::GeneratorOutput<Halide::Buffer<void, 4>> out{"out"};
    Halide::GeneratorOutput<Halide::Buffer<float, 3>> lse{"lse"};

    /** The mask compiled into the kernel, if any: that of the parameter `mask`, unless overridden. */
    std::optional<dsl::Mask> compiled_mask() { return this->text_mask(*this); }

    void configure() {
        for (auto *tensor : {&query, &key, &value})
            tensor->set_type(this->dtype);
        out.set_type(this->dtype);
    }

    void generate() {
        T &self = static_cast<T &>(*this);
        const int value_width = this->value_dim >= 0 ? this->value_dim : this->head_dim;
        dsl::AttentionInputs in = this->score_inputs(self);
        in.value = value;
        in.value_dim = extent_or(value_width, value.dim(0).extent());
        in.output_type = this->dtype;
        rows_of(value, in.value_dim);

        const schedules::Machine machine = schedules::machine(this->get_target());
        const auto &schedule = known(schedules::attention_schedules(), this->schedule_name);
        const dsl::Attention attention = dsl::attention(in, schedule.shape(machine, this->head_dim, in.keys));
        out = attention.output;
        lse = attention.lse;
        schedule.apply(attention, machine);
        rows_of(out, in.value_dim);
        out.dim(1).set_bounds(0, in.queries);
        lse.dim(0).set_bounds(0, in.queries);
    }
};

} // namespace attune::generators
