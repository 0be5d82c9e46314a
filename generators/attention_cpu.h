// What every attention generator for CPUs shares: the kernel's arguments, and how they bind a declaration to a schedule.
#pragma once

#include <optional>
#include <string>

#include <Halide.h>

#include "dsl/attention/attention.h"
#include "dsl/axes.h"
#include "generators/bind.h"
#include "generators/mask_from_text.h"
#include "generators/named_parameters.h"
#include "generators/position_from_text.h"
#include "generators/score_from_text.h"
#include "schedules/passes.h"
#include "schedules/table.h"

namespace attune::generators {

/** The arguments that say which cells attend and how scores are made: the first ones of every kernel that computes scores.
 * Buffers are (channel, token, head, batch); tensors of cells (key, query, head, batch). Broadcast axes have stride 0.
 * Keys and values lie in pages of as many tokens as dim 1 of k has; dim 3 counts pages, and `pages` says which page is whose. A declaration
 * knows nothing of that: its keys are (channel, token, head, batch). */
template <typename T> class ScoreGenerator : public Halide::Generator<T> {
public:
    Halide::GeneratorParam<std::string> schedule_name{"schedule", "flash"};
    Halide::GeneratorParam<std::string> mask_text{"mask", "none"}, score_text{"score", "none"}, position_text{"position", "none"};
    Halide::GeneratorParam<Halide::Type> dtype{"dtype", Halide::Float(32)};      // of q, k, v and out
    Halide::GeneratorParam<Halide::Type> kv_dtype{"kv_dtype", Halide::Handle()}; // of k and v: int8 with scales; a handle: as dtype
    Halide::GeneratorParam<int> head_dim{"head_dim", 0};                         // D; 0: any
    Halide::GeneratorParam<int> value_dim{"value_dim", -1};                      // Dv; 0: any, -1: as head_dim
    Halide::GeneratorParam<int> param_count{"param_count", -1}; // of a mask in C++: how many `params` have names; -1: any number

    using Tensor = Halide::GeneratorInput<Halide::Buffer<void, 4>>; // of type `dtype`: see configure()
    template <typename Type, int rank> using Input = Halide::GeneratorInput<Halide::Buffer<Type, rank>>;
    Tensor query{"query"}, key{"key"};
    Input<int32_t, 5> intervals{"intervals"}; // (2, count, query, head, batch): see dsl::KeyIntervals
    Input<int32_t, 1> offsets{"offsets"};     // (batch): key position of query 0
    Input<int32_t, 1> params{"params"};       // values of the mask's named parameters
    // What a compiled-in mask may name: key lengths (batch), documents (token, batch) and (key block, query block, head, batch).
    Input<int32_t, 1> lengths{"lengths"};
    Input<int32_t, 2> query_documents{"query_documents"}, key_documents{"key_documents"};
    Input<uint8_t, 4> block_map{"block_map"};
    Input<uint8_t, 4> attend{"attend"};
    Input<float, 4> bias{"bias"};
    Input<float, 3> relative{"relative"};                                           // (i - j + M - 1, head, batch)
    Input<float, 1> sinks{"sinks"};                                                 // (head)
    Input<float, 4> query_position{"query_position"}, key_position{"key_position"}; // (channel, plane, token, batch)
    Halide::GeneratorInput<int32_t> use_attend{"use_attend"}, use_bias{"use_bias"}, use_relative{"use_relative"}, use_sinks{"use_sinks"};
    Halide::GeneratorInput<float> scale{"scale"}, softcap{"softcap"}, temperature{"temperature"};
    Halide::GeneratorInput<uint32_t> dropout_threshold{"dropout_threshold"}, seed_low{"seed_low"}, seed_high{"seed_high"};
    Halide::GeneratorInput<int32_t> keys{"keys"}; // M
    Input<int32_t, 2> pages{"pages"};             // (page of the item, batch): page of k and v
    Input<float, 3> key_scale{"key_scale"};       // (token of the page, head, page), where k is int8

    /** The mask compiled into the kernel, if any: that of the parameter `mask`, unless overridden. */
    std::optional<dsl::Mask> compiled_mask() {
        const MaskData data{offsets, params, lengths, query_documents, key_documents, block_map, attend, {}};
        return mask_from_text(mask_text, query.dim(1).extent(), keys, data);
    }
    /** A score compiled in, after soft cap and biases; none unless overridden. */
    std::optional<dsl::ScoreFunction> compiled_score() { return std::nullopt; }
    /** How q and k are given their positions: as the parameter `position` says, unless overridden. */
    std::optional<dsl::Positioning> compiled_positioning() { return positioning_from_text(position_text); }

    void configure() {
        query.set_type(dtype);
        key.set_type(stored_type());
    }

protected:
    bool is_quantised() const { return kv_dtype.value() == Halide::Int(8); }
    Halide::Type stored_type() const { return is_quantised() ? Halide::Int(8) : dtype.value(); }

    /** Which page holds a token, and where in it. The quotient is exact: it is 0.5 / size or more away from a whole number, and the error
     * of a double below 2^-21 / size. A division of integers takes several times as long. */
    void find_pages(const Tensor &tensor, dsl::Pages &found) {
        using namespace dsl::axes;
        const Halide::Expr size = tensor.dim(1).extent(), half(0.5), one(1.0);
        found.size = size, found.several = size < keys;
        const Halide::Expr quotient = Halide::cast<int32_t>((Halide::cast<double>(token) + half) * (one / Halide::cast<double>(size)));
        const Halide::Expr nth = select(found.several, quotient, 0);
        found.place = Halide::Func("place_in_page"), found.page = Halide::Func("page_of_token");
        found.place(token) = token - nth * size;
        found.page(token, batch) = pages(promised_inside(nth, pages.dim(0)), batch);
    }

    /** Keys or values by page (channel, place, head, page), as they are stored. */
    Halide::Func by_page(const std::string &name, const Tensor &tensor) {
        using namespace dsl::axes;
        const Halide::Var place("place"), page("page");
        Halide::Func whole(name);
        whole(dim, place, head, page) = tensor(dim, promised_inside(place, tensor.dim(1)), head, promised_inside(page, tensor.dim(3)));
        return whole;
    }
    /** Their scales (place, head, page), if they have any. */
    Halide::Func scales_by_page(const std::string &name, const Input<float, 3> &scales) {
        using namespace dsl::axes;
        const Halide::Var place("place"), page("page");
        if (!is_quantised()) return Halide::Func();
        Halide::Func by_page(name);
        by_page(place, head, page) = scales(promised_inside(place, scales.dim(0)), head, promised_inside(page, scales.dim(2)));
        return by_page;
    }

    static dsl::Pages::Strides page_strides(const Tensor &tensor) { return {tensor.dim(1).stride(), tensor.dim(3).stride()}; }

    /** What they are, by token: (channel, token, head, batch). */
    Halide::Func by_token(const std::string &name, const Halide::Func &stored, const Halide::Func &scales, const dsl::Pages &where) {
        using namespace dsl::axes;
        Halide::Func whole(name);
        const Halide::Expr number = where.stored(stored, dim, token, head, batch);
        if (scales.defined())
            whole(dim, token, head, batch) = Halide::cast<float>(number) * scales(where.place(token), head, where.page(token, batch));
        else
            whole(dim, token, head, batch) = number;
        return whole;
    }

    /** Everything of the declaration's inputs but the values. */
    dsl::AttentionInputs score_inputs() {
        T &self = static_cast<T &>(*this);
        dsl::AttentionInputs in;
        find_pages(key, in.pages);
        in.pages.key = by_page("paged_key", key), in.pages.key_strides = page_strides(key);
        in.pages.key_scale = scales_by_page("paged_key_scale", key_scale);
        in.query = query, in.key = by_token("unpaged_key", in.pages.key, in.pages.key_scale, in.pages);
        in.queries = query.dim(1).extent(), in.keys = keys;
        in.head_dim = extent_or(head_dim, query.dim(0).extent());
        in.heads = query.dim(2).extent(), in.batches = query.dim(3).extent();
        in.heads_per_group = query.dim(2).extent() / key.dim(2).extent();
        in.intervals = {intervals, intervals.dim(1).extent()};
        in.mask = self.compiled_mask(), in.score = self.compiled_score(), in.positioning = self.compiled_positioning();
        if (param_count >= 0) check_parameters(in.mask, in.score, Halide::Func(params).name(), param_count);
        in.attend = attend, in.bias = bias, in.relative = relative, in.sinks = sinks;
        in.query_position = query_position, in.key_position = key_position, in.offsets = offsets;
        in.use_attend = use_attend, in.use_bias = use_bias, in.use_relative = use_relative, in.use_sinks = use_sinks;
        in.attend_contiguous = attend.dim(0).stride() == 1, in.bias_contiguous = bias.dim(0).stride() == 1;
        in.rows_alike = intervals.dim(2).stride() == 0;
        in.scale = scale, in.softcap = softcap, in.temperature = temperature;
        in.dropout = {dropout_threshold, seed_low, seed_high};
        compile_score_text(score_text, in);
        rows_of(query, in.head_dim), rows_of(key, in.head_dim);
        intervals.dim(0).set_bounds(0, 2).set_stride(1);
        const Halide::Expr any;
        attend.dim(0).set_stride(any), bias.dim(0).set_stride(any), offsets.dim(0).set_stride(any), lengths.dim(0).set_stride(any);
        query_documents.dim(0).set_stride(any), key_documents.dim(0).set_stride(any), block_map.dim(0).set_stride(any);
        sinks.dim(0).set_stride(any), relative.dim(0).set_stride(any);
        pages.dim(0).set_stride(any), key_scale.dim(0).set_stride(any);
        if (!in.positioning) query_position.dim(0).set_stride(any), key_position.dim(0).set_stride(any);
        return in;
    }
};

/** The values, and the results, of every kernel that attends. */
template <typename T> class ResultGenerator : public ScoreGenerator<T> {
public:
    typename ScoreGenerator<T>::Tensor value{"value"};
    typename ScoreGenerator<T>::template Input<float, 3> value_scale{"value_scale"}; // as key_scale
    Halide::GeneratorInput<int32_t> rows_per_task{"rows_per_task"}; // what a thread takes at a time, where the schedule leaves it open
    Halide::GeneratorOutput<Halide::Buffer<void, 4>> out{"out"};
    Halide::GeneratorOutput<Halide::Buffer<float, 3>> lse{"lse"};

    void configure() {
        ScoreGenerator<T>::configure();
        value.set_type(this->stored_type());
        out.set_type(this->dtype);
    }

protected:
    dsl::AttentionInputs attention_inputs() {
        const int value_width = this->value_dim >= 0 ? this->value_dim : this->head_dim;
        dsl::AttentionInputs in = this->score_inputs();
        in.pages.value = this->by_page("paged_value", value), in.pages.value_strides = this->page_strides(value);
        in.pages.value_scale = this->scales_by_page("paged_value_scale", value_scale);
        in.value = this->by_token("unpaged_value", in.pages.value, in.pages.value_scale, in.pages);
        value_scale.dim(0).set_stride(Halide::Expr());
        in.pages.scales_contiguous = this->key_scale.dim(0).stride() == 1 && value_scale.dim(0).stride() == 1;
        in.value_dim = extent_or(value_width, value.dim(0).extent());
        in.output_type = this->dtype;
        rows_of(value, in.value_dim);
        return in;
    }

    void bind_results(const dsl::AttentionInputs &in) {
        rows_of(out, in.value_dim);
        out.dim(1).set_bounds(0, in.queries);
        lse.dim(0).set_bounds(0, in.queries);
    }
};

template <typename T> class CpuAttentionGenerator : public ResultGenerator<T> {
public:
    Halide::GeneratorParam<bool> count_blocks{"count_blocks", false}; // adds an output: see counts
    // With count_blocks (which, tile, head, batch): tiles x panels computed (0), and those of them whose mask was evaluated (1).
    Halide::GeneratorOutput<Halide::Buffer<int32_t, 4>> *counts = nullptr;

    void configure() {
        ResultGenerator<T>::configure();
        if (count_blocks) counts = this->template add_output<Halide::Buffer<int32_t, 4>>("counts");
    }

    void generate() {
        dsl::AttentionInputs in = this->attention_inputs();
        in.count_panels = count_blocks;
        const schedules::Machine machine = schedules::machine(this->get_target(), this->dtype);
        const auto &schedule = known(schedules::attention_schedules(), this->schedule_name, this->get_target());
        dsl::Blocking blocking = schedule.shape(machine, this->head_dim, in.keys);
        blocking.share(this->rows_per_task, in.queries, in.keys);
        declared = dsl::attention(in, blocking);
        this->out = declared.output;
        this->lse = declared.lse;
        if (counts) *counts = declared.counts;
        schedule.apply(declared, machine);
        this->bind_results(in);
    }

    void schedule() { schedules::add_passes(this->get_pipeline(), declared, schedules::machine(this->get_target(), this->dtype)); }

private:
    dsl::Attention declared;
};

} // namespace attune::generators
