#include "runtime/src/position/relative_bias.h"

#include <algorithm>

#include "runtime/src/error.h"
#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/kernel/halide_buffer.h"
#include "runtime/src/position/alibi_slopes.h"
#include "runtime/src/tensor/integers.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

using text::Alignment;
using text::ScoreKind;
using text::ScoreTerm;

bool follows_offsets(const ScoreTerm *term, const RelativeInput &in) { return term && term->alignment == Alignment::unnamed && in.offsets; }

int64_t offset_of(const ScoreTerm &term, const RelativeInput &in, int64_t item) {
    if (term.alignment == Alignment::top_left) return 0;
    if (term.alignment == Alignment::bottom_right) return in.keys - in.queries;
    return in.offsets ? read_integer(*in.offsets, item) : in.offset;
}

/** The kernel counts i + offset - j in 32 bits. */
Status check_distances(int64_t offset, const RelativeInput &in, int64_t item) {
    const int64_t low = INT32_MIN + in.keys, high = INT32_MAX - in.queries;
    if (offset >= low && offset <= high) return {};
    const std::string subject = in.offsets ? formatted("offsets[{}]", item) : "offset";
    return fail(ATTUNE_INVALID_ARGUMENT,
                "{} is {}; with alibi or t5 it must be {} to {}, so that distances between {} queries and {} keys fit in 32 bits", subject,
                offset, low, high, in.queries, in.keys);
}

/** A term's offsets for `items` batch items; zeros for a term that isn't there. */
Status fill_offsets(const ScoreTerm *term, const RelativeInput &in, int64_t items, int32_t *offsets) {
    for (int64_t b = 0; b < items; ++b) {
        const int64_t offset = term ? offset_of(*term, in, b) : 0;
        ATTUNE_TRY(check_distances(offset, in, b));
        offsets[b] = static_cast<int32_t>(offset);
    }
    return {};
}

/** The kernel's inputs. What a term that isn't there would read is one zero, seen as wide as it must be. */
struct Inputs {
    const ScoreTerm *alibi, *t5;
    const int32_t *alibi_offsets, *t5_offsets;
    const float *slopes;
};

Status run(const RelativeInput &in, const Inputs &inputs, const attune_tensor &relative, Call &call) {
    const attune_kernel *kernel = nullptr;
    ATTUNE_TRY(find_function_kernel("relative_bias", nullptr, kernel));
    const float none = 0;
    const ScoreTerm no_term, &t5 = inputs.t5 ? *inputs.t5 : no_term;
    int32_t use_alibi = inputs.alibi != nullptr, use_t5 = inputs.t5 != nullptr;
    int32_t buckets = inputs.t5 ? t5.buckets : 1, max_distance = inputs.t5 ? t5.max_distance : 2, bidirectional = t5.bidirectional;
    auto queries = static_cast<int32_t>(in.queries), keys = static_cast<int32_t>(in.keys);
    const int64_t items = relative.extent[0];
    HalideBuffer slopes(inputs.alibi ? inputs.slopes : &none, ATTUNE_F32, {{in.heads, inputs.alibi ? 1 : 0}});
    HalideBuffer table(
        inputs.t5 ? in.t5_table->data : &none, ATTUNE_F32,
        {{buckets, inputs.t5 ? effective_stride(*in.t5_table, 0) : 0}, {in.heads, inputs.t5 ? effective_stride(*in.t5_table, 1) : 0}});
    HalideBuffer alibi_offsets(inputs.alibi_offsets, ATTUNE_I32, {{items, 1}}), t5_offsets(inputs.t5_offsets, ATTUNE_I32, {{items, 1}});
    HalideBuffer result(relative, 3);
    void *arguments[13] = {nullptr,    slopes.get(), table.get(), alibi_offsets.get(), t5_offsets.get(),
                           &use_alibi, &use_t5,      &buckets,    &max_distance,       &bidirectional,
                           &queries,   &keys,        result.get()};
    return run_kernel(*kernel, arguments, call);
}

} // namespace

Status make_relative_bias(const RelativeInput &in, Call &call, Scratch<float> &memory, attune_tensor &relative) {
    Inputs inputs = {in.score->find(ScoreKind::alibi), in.score->find(ScoreKind::t5), nullptr, nullptr, nullptr};
    const int64_t items = follows_offsets(inputs.alibi, in) || follows_offsets(inputs.t5, in) ? in.batch : 1;
    Scratch<int32_t> offsets(call);
    Scratch<float> slopes(call);
    const int64_t extents[] = {items, in.heads, in.queries + in.keys - 1};
    ATTUNE_TRY(make_scratch_tensor("the table of relative biases", ATTUNE_F32, 3, extents, memory, relative));
    if (!offsets.allocate(static_cast<size_t>(2 * items)) || !slopes.allocate(static_cast<size_t>(in.heads)))
        return out_of_memory("the offsets and slopes of relative biases", 8 * items + 4 * in.heads);
    ATTUNE_TRY(fill_offsets(inputs.alibi, in, items, offsets.data()));
    ATTUNE_TRY(fill_offsets(inputs.t5, in, items, offsets.data() + items));
    if (inputs.alibi) ATTUNE_TRY(make_alibi_slopes(nullptr, attune_contiguous(slopes.data(), ATTUNE_F32, 1, &in.heads), call));
    inputs.alibi_offsets = offsets.data(), inputs.t5_offsets = offsets.data() + items, inputs.slopes = slopes.data();

    ATTUNE_TRY(run(in, inputs, relative, call));
    if (items == in.batch) return {};
    relative.extent[0] = in.batch, relative.stride[0] = 0;
    return {};
}

Status check_t5_table(const attune_tensor *table, const text::Score &score, int64_t heads) {
    const ScoreTerm *t5 = score.find(ScoreKind::t5);
    ATTUNE_REQUIRE(t5 || !table, "t5_table is given; it goes with a score that has the term t5");
    if (!t5) return {};
    ATTUNE_REQUIRE(table, "t5_table is NULL; the score's t5 needs it, f32 [{}, {}]", t5->buckets, heads);
    ATTUNE_TRY(check_tensor(*table, {"t5_table", ATTUNE_F32, 2, 2, Role::input, false}));
    return check_extents(*table, "t5_table", {{t5->buckets, "the buckets of the score's t5"}, {heads, "the heads of q"}});
}

Status check_score_alignment(const text::Score &score, int64_t queries, int64_t keys, bool offset_given) {
    if (offset_given || queries == keys) return {};
    for (const ScoreKind kind : {ScoreKind::alibi, ScoreKind::t5}) {
        const ScoreTerm *term = score.find(kind);
        ATTUNE_REQUIRE(
            !term || term->alignment != Alignment::unnamed,
            "the score's {} names no alignment, and N = {} differs from M = {}; name top_left or bottom_right in it, or give an offset",
            kind == ScoreKind::alibi ? "alibi" : "t5", queries, keys);
    }
    return {};
}

} // namespace attune::runtime
