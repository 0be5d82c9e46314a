// Attention on a CUDA device, without tensor cores. A buffer that isn't used may have extents 1 and no memory: it isn't read.
//
// A schedule of split-KV takes `keys_per_chunk` and `partial` as in attention_mma.cpp, but `partial` is (channel, row, tile, kv head,
// batch), where a row has 8 channels more than the schedule rounds a value up to.
#include "dsl/attention_tiles.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "generators/bind.h"
#include "schedules/cuda/private_registers.h"
#include "schedules/lift_conditions.h"

namespace attune::generators {

class AttentionSimt : public Halide::Generator<AttentionSimt> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "simt"};
    GeneratorParam<Halide::Type> dtype{"dtype", Halide::Float(32)};    // of q, k, v and out
    GeneratorParam<int> head_dim{"head_dim", 0};                       // D and Dv; 0: any up to 256
    Input<Buffer<void, 4>> query{"query"}, key{"key"}, value{"value"}; // (channel, token, head, batch or page)
    Input<Buffer<int32_t, 1>> lengths{"lengths"}, offsets{"offsets"};  // (batch)
    Input<Buffer<float, 1>> sinks{"sinks"};                            // (head)
    Input<Buffer<float, 4>> bias{"bias"};                              // (key, query, head, batch)
    Input<Buffer<int32_t, 2>> pages{"pages"};                          // (page of the item, batch): page of k and v
    Input<int32_t> use_lengths{"use_lengths"}, use_offsets{"use_offsets"}, use_sinks{"use_sinks"}, use_bias{"use_bias"};
    Input<int32_t> use_alibi{"use_alibi"}, use_pages{"use_pages"};
    Input<int32_t> offset{"offset"}, left{"left"}, right{"right"}; // key position of query 0; see dsl::ItemInputs
    Input<float> scale{"scale"}, softcap{"softcap"}, temperature{"temperature"};
    Input<int32_t> keys{"keys"}; // M
    Output<Buffer<void, 4>> out{"out"};
    Output<Buffer<float, 3>> lse{"lse"}; // (token, head, batch)

    void configure() {
        for (auto *tensor : {&query, &key, &value})
            tensor->set_type(dtype);
        out.set_type(dtype);
        if (!shape({}).split) return; // M can't be looked at yet, nor is it
        keys_per_chunk = add_input<int32_t>("keys_per_chunk");
        partial = add_output<Buffer<float, 5>>("partial");
    }

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target());
        const auto &schedule = known(schedules::tiles_schedules(), schedule_name, get_target());
        const dsl::AttentionInputs in = inputs();
        declared = dsl::attention_tiles(in, items(), shape(in.keys));
        out = declared.attention, lse = declared.lse;
        if (partial) *partial = declared.partial;
        schedule.apply(declared, machine);
        bind(in);
        if (partial) bind_partial();
    }

    /** Called after generate(): the pipeline is known only then. */
    void schedule() {
        Halide::Pipeline pipeline = get_pipeline();
        for (const Halide::Func &f : {declared.state, declared.careful, declared.attends})
            pipeline.add_custom_lowering_pass(new schedules::LiftConditions(f, 0));
        pipeline.add_custom_lowering_pass(new schedules::cuda::PrivateRegisters);
    }

private:
    dsl::AttentionTiles declared;
    Input<int32_t> *keys_per_chunk = nullptr;
    Output<Buffer<float, 5>> *partial = nullptr;

    dsl::TileShape shape(const Halide::Expr &all_keys) {
        const auto &schedule = known(schedules::tiles_schedules(), schedule_name, get_target());
        return schedule.shape(schedules::machine(get_target()), head_dim, all_keys);
    }

    // What is read where it is used: at an index within the buffer, also where there is no more of it than one element.
    static Halide::Expr within(const Halide::Expr &index, const Halide::Internal::Dimension &axis) {
        return Halide::unsafe_promise_clamped(index, 0, axis.extent() - 1);
    }

    Halide::Func of_items(const char *name, Input<Buffer<int32_t, 1>> &buffer) {
        Halide::Func f(name);
        f(dsl::axes::batch) = buffer(within(dsl::axes::batch, buffer.dim(0)));
        return f;
    }

    // Keys or values (channel, token, head, batch) out of their pages. Entries of the table may be anything where there are no tokens.
    Halide::Func unpaged(const char *name, Input<Buffer<void, 4>> &tensor) {
        using namespace dsl::axes;
        const Halide::Expr size = tensor.dim(1).extent(), paged = use_pages != 0;
        const Halide::Expr nth = Halide::cast<int32_t>(Halide::cast<uint32_t>(token) / Halide::cast<uint32_t>(size));
        const Halide::Expr entry = pages(within(nth, pages.dim(0)), within(batch, pages.dim(1)));
        const Halide::Expr page = dsl::branch(paged, clamp(entry, 0, tensor.dim(3).extent() - 1), batch);
        Halide::Func f(name);
        f(dim, token, head, batch) =
            tensor(dim, within(dsl::branch(paged, token - nth * size, token), tensor.dim(1)), head, within(page, tensor.dim(3)));
        return f;
    }

    dsl::ItemInputs items() {
        dsl::ItemInputs given = {of_items("offset_of", offsets),
                                 of_items("length_of", lengths),
                                 use_offsets,
                                 use_lengths,
                                 offset,
                                 left,
                                 right,
                                 use_alibi,
                                 query.dim(2).extent(),
                                 {}};
        if (keys_per_chunk) given.keys_per_chunk = *keys_per_chunk;
        return given;
    }

    dsl::AttentionInputs inputs() {
        using namespace dsl::axes;
        dsl::AttentionInputs in;
        in.query = query, in.key = unpaged("unpaged_key", key), in.value = unpaged("unpaged_value", value);
        in.output_type = dtype;
        in.queries = query.dim(1).extent(), in.keys = keys;
        in.head_dim = extent_or(head_dim, query.dim(0).extent()), in.value_dim = extent_or(head_dim, value.dim(0).extent());
        in.heads_per_group = query.dim(2).extent() / key.dim(2).extent();
        in.bias = Halide::Func("bias_of"), in.sinks = Halide::Func("sink_of");
        in.bias(dsl::axes::key, token, head, batch) =
            bias(within(dsl::axes::key, bias.dim(0)), within(token, bias.dim(1)), within(head, bias.dim(2)), within(batch, bias.dim(3)));
        in.sinks(head) = sinks(within(head, sinks.dim(0)));
        in.use_bias = use_bias, in.use_sinks = use_sinks;
        in.scale = scale, in.softcap = softcap, in.temperature = temperature;
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
        const Halide::Expr any;
        for (auto *buffer : {&lengths, &offsets})
            buffer->dim(0).set_min(0).set_stride(any);
        sinks.dim(0).set_min(0).set_stride(any), bias.dim(0).set_stride(any), pages.dim(0).set_stride(any);
        lse.dim(0).set_stride(any);
        for (int axis = 0; axis < 4; axis++)
            bias.dim(axis).set_min(0);
        for (int axis : {0, 1})
            pages.dim(axis).set_min(0);
    }

    void bind_partial() {
        const int most = declared.shape.rows;
        const Halide::Expr kv_heads = key.dim(2).extent(), rows = query.dim(1).extent() * query.dim(2).extent() / kv_heads;
        const Halide::Expr tiles = ((rows - 1) / most + 1) * ((keys - 1) / *keys_per_chunk + 1);
        const int width = declared.shape.channels + 8;
        const Halide::Expr extents[] = {width, min(rows, most), tiles, kv_heads, query.dim(3).extent()};
        partial->set_host_alignment(16);
        for (int axis = 0; axis < 5; axis++)
            partial->dim(axis).set_bounds(0, extents[axis]);
        for (int axis = 1; axis < 5; axis++)
            partial->dim(axis).set_stride(partial->dim(axis).stride() / 4 * 4);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::AttentionSimt, attention_simt)
