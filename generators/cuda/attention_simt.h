// The generator of attention for CUDA without tensor cores: schedules simt and split_kv of f32.
#pragma once

#include "dsl/attention/simt.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "generators/cuda/attention.h"
#include "generators/cuda/shares_multiprocessor.h"
#include "schedules/passes.h"

namespace attune::generators {

/** A buffer that isn't used isn't read, but by what is compiled in.
 *
 * A schedule of split-KV takes `keys_per_chunk` and `partial` as in attention_fragments.h, but `partial` is (channel, row, tile, kv head,
 * batch), where a row has 8 channels more than the schedule rounds a value up to. */
template <typename T> class SimtAttentionGenerator : public CudaAttentionGenerator<T, void>, public SharesMultiprocessor {
public:
    using Base = CudaAttentionGenerator<T, void>;
    using Base::bias, Base::given_lengths, Base::given_offsets, Base::head_dim, Base::key, Base::keys, Base::keys_per_chunk, Base::left,
        Base::offset, Base::pages, Base::query, Base::right, Base::scale, Base::schedule_name, Base::sinks, Base::temperature,
        Base::use_bias, Base::use_offsets, Base::use_pages, Base::use_sinks, Base::value;

    Halide::GeneratorParam<Halide::Type> dtype{"dtype", Halide::Float(32)}; // of q, k, v and out
    Halide::GeneratorOutput<Halide::Buffer<void, 4>> out{"out"};
    Halide::GeneratorOutput<Halide::Buffer<float, 3>> lse{"lse"}; // (token, head, batch)

    void configure() {
        for (auto *tensor : {&query, &key, &value})
            tensor->set_type(dtype);
        out.set_type(dtype);
        const bool split = shape({}).split; // M can't be looked at yet, nor is it
        this->add_inputs(split);
        if (split) partial = this->template add_output<Halide::Buffer<float, 5>>("partial");
    }

    void generate() {
        const schedules::Machine machine = schedules::machine(this->get_target());
        const auto &schedule = known(schedules::simt_schedules(), schedule_name, this->get_target());
        const typename Base::Compiled compiled = this->compiled(shape({}).rows);
        const dsl::AttentionInputs in = inputs(compiled);
        declared = dsl::simt_attention(in, items(compiled), shape(in.keys));
        out = declared.attention, lse = declared.lse;
        if (partial) *partial = declared.partial;
        schedule.apply(declared, machine);
        bind(in);
        if (partial) bind_partial();
    }

    void schedule() { schedules::add_passes(this->get_pipeline(), declared, schedules::machine(this->get_target())); }

    int blocks_per_multiprocessor() const override { return shape({}).blocks; }

private:
    dsl::SimtAttention declared;
    Halide::GeneratorOutput<Halide::Buffer<float, 5>> *partial = nullptr;

    dsl::SimtBlocking shape(const Halide::Expr &all_keys) const {
        const auto &schedule = known(schedules::simt_schedules(), schedule_name, this->get_target());
        return schedule.shape(schedules::machine(this->get_target()), head_dim, all_keys);
    }

    Halide::Func of_items(const char *name, typename Base::template Buffer<int32_t, 1> &buffer) {
        Halide::Func f(name);
        f(dsl::axes::batch) = buffer(promised_inside(dsl::axes::batch, buffer.dim(0)));
        return f;
    }

    // Keys or values (channel, token, head, batch) out of their pages. Entries of the table may be anything where there are no tokens.
    Halide::Func unpaged(const char *name, typename Base::template Buffer<void, 4> &tensor) {
        using namespace dsl::axes;
        const Halide::Expr size = tensor.dim(1).extent(), paged = use_pages != 0;
        const Halide::Expr nth = Halide::cast<int32_t>(Halide::cast<uint32_t>(token) / Halide::cast<uint32_t>(size));
        const Halide::Expr entry = pages(promised_inside(nth, pages.dim(0)), promised_inside(batch, pages.dim(1)));
        const Halide::Expr page = dsl::branch(paged, clamp(entry, 0, tensor.dim(3).extent() - 1), batch);
        Halide::Func f(name);
        f(dim, token, head, batch) = tensor(dim, promised_inside(dsl::branch(paged, token - nth * size, token), tensor.dim(1)), head,
                                            promised_inside(page, tensor.dim(3)));
        return f;
    }

    dsl::ItemInputs items(const typename Base::Compiled &compiled) {
        dsl::ItemInputs given = {of_items("offset_of", given_offsets),
                                 of_items("length_of", given_lengths),
                                 use_offsets,
                                 Halide::cast<int32_t>(this->lengths_hold()),
                                 offset,
                                 left,
                                 right,
                                 compiled.use_alibi,
                                 query.dim(2).extent(),
                                 {},
                                 use_pages == 0};
        if (keys_per_chunk) given.keys_per_chunk = *keys_per_chunk;
        return given;
    }

    dsl::AttentionInputs inputs(const typename Base::Compiled &compiled) {
        using namespace dsl::axes;
        dsl::AttentionInputs in;
        in.query = query, in.key = unpaged("unpaged_key", key), in.value = unpaged("unpaged_value", value);
        in.output_type = dtype;
        in.queries = query.dim(1).extent(), in.keys = keys;
        in.head_dim = extent_or(head_dim, query.dim(0).extent()), in.value_dim = extent_or(head_dim, value.dim(0).extent());
        in.heads_per_group = query.dim(2).extent() / key.dim(2).extent();
        in.bias = Halide::Func("bias_of"), in.sinks = Halide::Func("sink_of");
        in.bias(dsl::axes::key, token, head, batch) =
            bias(promised_inside(dsl::axes::key, bias.dim(0)), promised_inside(token, bias.dim(1)), promised_inside(head, bias.dim(2)),
                 promised_inside(batch, bias.dim(3)));
        in.sinks(head) = sinks(promised_inside(head, sinks.dim(0)));
        in.mask = compiled.mask, in.score = compiled.score;
        in.use_bias = use_bias, in.use_sinks = use_sinks;
        in.scale = scale, in.softcap = compiled.softcap, in.temperature = temperature;
        const Halide::Expr none = Halide::cast<uint32_t>(0);
        in.dropout = {none, none, none};
        return in;
    }

    void bind(const dsl::AttentionInputs &in) {
        rows_of(query, in.head_dim), rows_of(key, in.head_dim), rows_of(value, in.value_dim), rows_of(out, in.value_dim);
        for (int axis : {1, 2, 3})
            query.dim(axis).set_min(0), out.dim(axis).set_bounds(0, query.dim(axis).extent());
        for (int axis : {0, 1, 2})
            lse.dim(axis).set_bounds(0, query.dim(axis + 1).extent());
        lse.dim(0).set_stride(Halide::Expr());
        this->bind_inputs();
    }

    void bind_partial() {
        const int most = declared.blocking.rows;
        const Halide::Expr kv_heads = key.dim(2).extent(), rows = query.dim(1).extent() * query.dim(2).extent() / kv_heads;
        const Halide::Expr tiles = ((rows - 1) / most + 1) * ((keys - 1) / *keys_per_chunk + 1);
        const int width = declared.blocking.channels + 8;
        const Halide::Expr extents[] = {width, min(rows, most), tiles, kv_heads, query.dim(3).extent()};
        partial->set_host_alignment(16);
        for (int axis = 0; axis < 5; axis++)
            partial->dim(axis).set_bounds(0, extents[axis]);
        for (int axis = 1; axis < 5; axis++)
            partial->dim(axis).set_stride(partial->dim(axis).stride() / 4 * 4);
    }
};

} // namespace attune::generators
