// The generator of attention in fragments for CUDA's tensor cores: schedules mma, wgmma and split_kv.
#pragma once

#include "dsl/attention/fragments.h"
#include "dsl/axes.h"
#include "generators/cuda/attention.h"
#include "generators/cuda/shares_multiprocessor.h"
#include "schedules/cuda/cuda.h"
#include "schedules/cuda/passes.h"

namespace attune::generators {

/** q, k and v are words of two channels, in rows that start at multiples of 16 bytes. Pages have a power of two of tokens. `out` is (word %
 * 4, word / 4, token, head, batch) and lse (0, token, head, batch), so that each thread's part is a box of them. Buffers that aren't used
 * are never relied on, but may be read: they point to some memory of the device, with strides of 0.
 *
 * A schedule of split-KV takes `keys_per_chunk` after all other inputs, and after the outputs has one more, memory for the chunks' states:
 * (channel % 2, channel / 2 % 4, channel / 8, row, tile, kv head, batch), strides 1, 2, 8 and from the row on multiples of 4. A row has 8
 * channels more than a value. The rows of a key/value head, N times the query heads that share it, are cut into tiles of 16, all of which
 * have the extent min(rows, 16); each of these has one tile for each chunk. */
template <typename T> class FragmentAttentionGenerator : public CudaAttentionGenerator<T, uint32_t>, public SharesMultiprocessor {
public:
    using Base = CudaAttentionGenerator<T, uint32_t>;
    using Base::bias, Base::far, Base::given_lengths, Base::given_offsets, Base::head_dim, Base::key, Base::keys, Base::keys_per_chunk,
        Base::left, Base::offset, Base::pages, Base::query, Base::right, Base::scale, Base::schedule_name, Base::sinks, Base::temperature,
        Base::use_bias, Base::use_offsets, Base::use_pages, Base::use_sinks, Base::value;

    Halide::GeneratorParam<bool> bfloat{"bfloat", true}; // or else f16
    Halide::GeneratorOutput<Halide::Buffer<uint32_t, 5>> out{"out"};
    Halide::GeneratorOutput<Halide::Buffer<float, 4>> lse{"lse"};

    void configure() {
        const bool split = known(schedules::fragment_schedules(), schedule_name, this->get_target()).split;
        this->add_inputs(split);
        if (split) partial = this->template add_output<Halide::Buffer<float, 7>>("partial");
    }

    void generate() {
        const auto &schedule = known(schedules::fragment_schedules(), schedule_name, this->get_target());
        const dsl::FragmentBlocking blocking = schedule.shape(head_dim);
        const dsl::FragmentAttention attention = dsl::fragment_attention(inputs(blocking.rows()), blocking);
        out = attention.output, lse = attention.lse;
        if (partial) *partial = attention.partial;
        schedule.apply(attention);
        bind();
        if (partial) bind_partial();
    }

    /** Called after generate(): the pipeline is known only then. */
    void schedule() { schedules::cuda::add_fragment_passes(this->get_pipeline()); }

    int blocks_per_multiprocessor() const override {
        return known(schedules::fragment_schedules(), schedule_name, this->get_target()).shape(head_dim).blocks;
    }

private:
    const Halide::Var word{"word"};
    Halide::GeneratorOutput<Halide::Buffer<float, 7>> *partial = nullptr;

    // Keys or values (word, token, head, batch) out of their pages. No branch and no division: these would be between copies that are to
    // be on their way together. Without pages the table is read all the same, at its beginning.
    Halide::Func unpaged(const char *name, typename Base::template Buffer<uint32_t, 4> &tensor) {
        using namespace dsl::axes;
        using Halide::cast, Halide::select, Halide::unsafe_promise_clamped;
        // Of both tensors one size and number: then one look into the table serves both.
        const Halide::Expr paged = use_pages != 0, size = key.dim(1).extent(), count = key.dim(3).extent();
        const Halide::Expr nth = token >> cast<uint32_t>(select(paged, count_trailing_zeros(size), 31));
        const Halide::Expr in_page = token & select(paged, size - 1, -1);
        const Halide::Expr entry =
            pages(unsafe_promise_clamped(nth, 0, pages.dim(0).extent() - 1), unsafe_promise_clamped(batch, 0, pages.dim(1).extent() - 1));
        const Halide::Expr page =
            unsafe_promise_clamped(clamp(entry, select(paged, 0, batch), select(paged, count - 1, batch)), 0, count - 1);
        Halide::Func f(name);
        f(word, token, head, batch) = tensor(word, unsafe_promise_clamped(in_page, 0, size - 1), head, page);
        return f;
    }

    dsl::FragmentInputs inputs(int rows) {
        // No limit is twice as far.
        const Halide::Expr to_left = min(left, 2 * far), to_right = min(right, 2 * far);
        const auto offset_of = [this](const Halide::Expr &batch) {
            return clamp(select(use_offsets != 0, given_offsets(batch), offset), -far, far);
        };
        const auto length_of = [this](const Halide::Expr &batch) {
            return clamp(select(this->lengths_hold(), given_lengths(batch), keys), 0, keys);
        };
        const typename Base::Compiled compiled = this->compiled(rows);
        dsl::FragmentInputs in;
        in.element = bfloat ? Halide::BFloat(16) : Halide::Float(16);
        in.query = query, in.key = unpaged("unpaged_key", key), in.value = unpaged("unpaged_value", value);
        in.bias = bias, in.sinks = sinks;
        in.queries = query.dim(1).extent(), in.keys = keys, in.heads = query.dim(2).extent();
        in.heads_per_group = query.dim(2).extent() / key.dim(2).extent();
        in.mask = dsl::Mask([=](const dsl::Cell &cell) {
            const Halide::Expr at = cell.query + offset_of(cell.batch);
            return at - to_left <= cell.key && cell.key <= at + to_right && cell.key < length_of(cell.batch);
        });
        if (compiled.mask) in.mask = *in.mask & *compiled.mask;
        in.score = compiled.score;
        if (keys_per_chunk) in.keys_per_chunk = *keys_per_chunk;
        in.use_bias = use_bias, in.use_alibi = compiled.use_alibi, in.use_sinks = use_sinks, in.offset = offset_of;
        // A scale of 0 would make -inf, the mark of a masked score, NaN. This small, all weights are equal just as well.
        in.scale = select(abs(scale) < 1e-30f, 1e-30f, scale), in.softcap = compiled.softcap, in.temperature = temperature;
        return in;
    }

    void bind() {
        const int words = head_dim / 2;
        const Halide::Expr queries = query.dim(1).extent(), heads = query.dim(2).extent(), items = query.dim(3).extent();
        for (auto *tensor : {&query, &key, &value}) {
            tensor->set_host_alignment(16);
            tensor->dim(0).set_bounds(0, words);
            for (int axis = 1; axis < 4; axis++)
                tensor->dim(axis).set_min(0).set_stride(tensor->dim(axis).stride() / 4 * 4);
        }
        out.dim(0).set_bounds(0, 4), out.dim(1).set_bounds(0, words / 4).set_stride(4);
        lse.dim(0).set_bounds(0, 1).set_stride(Halide::Expr());
        for (int axis : {0, 1, 2}) {
            const Halide::Expr extents[] = {queries, heads, items};
            out.dim(axis + 2).set_bounds(0, extents[axis]), lse.dim(axis + 1).set_bounds(0, extents[axis]);
        }
        this->bind_inputs();
    }

    void bind_partial() {
        const int most = 16;
        const Halide::Expr kv_heads = key.dim(2).extent(), rows = query.dim(1).extent() * query.dim(2).extent() / kv_heads;
        const Halide::Expr tiles = ((rows - 1) / most + 1) * ((keys - 1) / *keys_per_chunk + 1);
        const Halide::Expr extents[] = {2, 4, head_dim / 8 + 1, min(rows, most), tiles, kv_heads, query.dim(3).extent()};
        partial->set_host_alignment(16);
        for (int axis = 0; axis < 7; axis++)
            partial->dim(axis).set_bounds(0, extents[axis]);
        for (int axis : {1, 2})
            partial->dim(axis).set_stride(axis == 1 ? 2 : 8);
        for (int axis = 3; axis < 7; axis++)
            partial->dim(axis).set_stride(partial->dim(axis).stride() / 4 * 4);
    }
};

} // namespace attune::generators
