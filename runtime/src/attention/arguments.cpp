#include "runtime/src/attention/arguments.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "runtime/src/softmax/temperature.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

constexpr int32_t zero = 0;

/** `given`, or what stands in for a tensor that isn't: kernels don't read it, but want memory there. */
attune_tensor or_stand_in(const attune_tensor *given, attune_type type, int32_t rank) {
    const int64_t extents[4] = {1, 1, 1, 1};
    return given ? *given : attune_contiguous(const_cast<int32_t *>(&zero), type, rank, extents);
}

/** The soft cap that a kernel is given: 0 where it has that of the score compiled in. */
float passed_softcap(const PreparedRun &run, bool weights) {
    const bool compiled_in = run.plan.score_compiled_in && !weights && run.plan.score.find(text::ScoreKind::softcap);
    return compiled_in ? 0.0f : softcap_of(run.plan, run.args);
}

uint32_t threshold_of(float dropout) { return static_cast<uint32_t>(std::floor(static_cast<double>(dropout) * 4294967296.0)); }

bool is_read(const PreparedRun &run, text::MaskKind kind) { return run.plan.kernel_mask.opaque || run.plan.kernel_mask.names(kind); }

/** The numbers of all documents of queries or keys, [B, tokens]. */
HalideBuffer documents_buffer(const PreparedRun &run, const int32_t *numbers, int64_t tokens) {
    const DocumentSets &documents = run.masks.documents();
    if (!documents.filled()) return HalideBuffer(&zero, ATTUNE_I32, {{run.shape.batch, 0}, {tokens, 0}});
    return HalideBuffer(numbers, ATTUNE_I32, {{run.shape.batch, documents.items() > 1 ? tokens : 0}, {tokens, 1}});
}

HalideBuffer block_map_buffer(const PreparedRun &run) {
    const attune_tensor map = or_stand_in(is_read(run, text::MaskKind::blocks) ? run.args.block_map : nullptr, ATTUNE_BOOL, 4);
    return HalideBuffer(map, {run.shape.batch, run.shape.heads, map.extent[2], map.extent[3]});
}

HalideBuffer intervals_buffer(const PreparedRun &run) {
    const IntervalTable &t = run.masks.table();
    const AttentionShape &s = run.shape;
    return HalideBuffer(t.data, ATTUNE_I32,
                        {{s.batch, t.batch_stride}, {s.heads, t.head_stride}, {s.queries, t.row_stride}, {t.intervals, 2}, {2, 1}});
}

HalideBuffer relative_buffer(const PreparedRun &run) {
    const AttentionShape &s = run.shape;
    return HalideBuffer(or_stand_in(run.operands.relative(), ATTUNE_F32, 3), {s.batch, s.heads, s.queries + s.keys - 1});
}

const attune_tensor &operand(const PreparedRun &run, bool weights, const attune_tensor &given, const attune_tensor &placed) {
    return run.plan.position_compiled_in && !weights ? given : placed;
}

/** The keys that a kernel reads. */
const attune_tensor &keys_of(const PreparedRun &run, bool weights) {
    return run.cache.cache() ? run.cache.cache()->k : operand(run, weights, run.args.k, run.operands.placed_k());
}

const Attend &attend_of(const PreparedRun &run, bool weights) { return weights ? run.masks.weights_attend() : run.masks.attend(); }

/** A mask that is compiled in may read the tensor where the kernel isn't to use it by itself. */
const attune_tensor *attend_tensor(const PreparedRun &run, bool weights) {
    if (!weights) return run.args.boolean_mask;
    return attend_of(run, weights).used ? &attend_of(run, weights).tensor : nullptr;
}

HalideBuffer score_buffer(const PreparedRun &run, const attune_tensor *tensor, attune_type type) {
    const AttentionShape &s = run.shape;
    return HalideBuffer(or_stand_in(tensor, type, 4), {s.batch, s.heads, s.queries, s.keys});
}

/** A table of positions for a kernel that has the position compiled in. */
HalideBuffer position_buffer(const PreparedRun &run, bool weights, const attune_tensor *table, int64_t tokens) {
    const AttentionShape &s = run.shape;
    if (!table || !run.plan.position_compiled_in || weights)
        return HalideBuffer(or_stand_in(nullptr, ATTUNE_F32, 4), {s.batch, tokens, 1, s.head_dim});
    const auto stride = [&](int32_t axis) { return effective_stride(*table, axis); };
    // The innermost one is 1, also of a single channel: kernels ask for it.
    return HalideBuffer(table->data, table->type,
                        {{s.batch, stride(0)}, {tokens, stride(1)}, {table->extent[2], stride(2)}, {table->extent[3], 1}});
}

} // namespace

HalideBuffer scale_buffer(const attune_tensor *scale) {
    const attune_tensor tensor = or_stand_in(scale, ATTUNE_F32, 3);
    return HalideBuffer(tensor, {tensor.extent[0], tensor.extent[1], tensor.extent[2]});
}

Status KernelIntegers::fill(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    if (!plan.own_kernel) return {}; // prebuilt kernels don't read them
    ATTUNE_TRY(fill_offsets(plan, args, s));
    keys_ = static_cast<int32_t>(s.keys);
    if (!args.key_lengths) return {};
    if (!lengths_.allocate(static_cast<size_t>(s.batch))) return out_of_memory("key_lengths", s.batch * 4);
    for (int64_t b = 0; b < s.batch; ++b)
        lengths_.data()[b] = static_cast<int32_t>(read_integer(*args.key_lengths, b));
    return {};
}

Status KernelIntegers::fill_offsets(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    const auto narrow = [&](int64_t offset, int32_t &narrowed) {
        return narrow_offset(plan.kernel_mask, args.params, s.queries, s.keys, offset, narrowed);
    };
    if (!args.offsets) return narrow(args.has_offset ? args.offset : 0, offset_);
    if (!offsets_.allocate(static_cast<size_t>(s.batch))) return out_of_memory("offsets", s.batch * 4);
    for (int64_t b = 0; b < s.batch; ++b)
        ATTUNE_TRY(narrow(read_integer(*args.offsets, b), offsets_.data()[b]));
    return {};
}

ScoreArguments::ScoreArguments(const PreparedRun &run, bool weights)
    : q_(operand(run, weights, run.args.q, run.operands.placed_q()), 4), k_(keys_of(run, weights), 4), intervals_(intervals_buffer(run)),
      offsets_(run.integers.offsets(), ATTUNE_I32, {{run.shape.batch, run.integers.offset_stride()}}),
      params_(run.args.params ? run.args.params : &zero, ATTUNE_I32, {{std::max(run.args.param_count, 1), 1}}),
      lengths_(run.integers.lengths(), ATTUNE_I32, {{run.shape.batch, run.integers.length_stride()}}),
      query_documents_(documents_buffer(run, run.masks.documents().query_numbers(), run.shape.queries)),
      key_documents_(documents_buffer(run, run.masks.documents().key_numbers(), run.shape.keys)), block_map_(block_map_buffer(run)),
      attend_(score_buffer(run, attend_tensor(run, weights), ATTUNE_BOOL)), bias_(score_buffer(run, run.args.bias, ATTUNE_F32)),
      relative_(relative_buffer(run)), sinks_(or_stand_in(run.args.sinks, ATTUNE_F32, 1), {run.shape.heads}),
      query_position_(position_buffer(run, weights, run.operands.query_table(), run.shape.queries)),
      key_position_(position_buffer(run, weights, run.operands.key_table(), run.shape.keys)), use_attend_(attend_of(run, weights).used),
      use_bias_(run.args.bias != nullptr), use_relative_(run.operands.relative() != nullptr), use_sinks_(run.args.sinks != nullptr),
      scale_(scale_of(run.args, run.shape.head_dim)), softcap_(passed_softcap(run, weights)),
      temperature_(kernel_temperature(run.args.temperature)), dropout_threshold_(threshold_of(run.args.dropout)),
      seed_low_(static_cast<uint32_t>(run.args.seed)), seed_high_(static_cast<uint32_t>(run.args.seed >> 32)),
      keys_(static_cast<int32_t>(run.shape.keys)), pages_(run.pages.buffer()),
      key_scale_(scale_buffer(run.cache.cache() ? run.cache.cache()->k_scale : nullptr)) {}

void **ScoreArguments::append(void **next) {
    void *const all[] = {q_.get(),
                         k_.get(),
                         intervals_.get(),
                         offsets_.get(),
                         params_.get(),
                         lengths_.get(),
                         query_documents_.get(),
                         key_documents_.get(),
                         block_map_.get(),
                         attend_.get(),
                         bias_.get(),
                         relative_.get(),
                         sinks_.get(),
                         query_position_.get(),
                         key_position_.get(),
                         &use_attend_,
                         &use_bias_,
                         &use_relative_,
                         &use_sinks_,
                         &scale_,
                         &softcap_,
                         &temperature_,
                         &dropout_threshold_,
                         &seed_low_,
                         &seed_high_,
                         &keys_,
                         pages_.get(),
                         key_scale_.get()};
    static_assert(std::size(all) == count, "callers have room for so many");
    return std::copy(std::begin(all), std::end(all), next);
}

} // namespace attune::runtime
