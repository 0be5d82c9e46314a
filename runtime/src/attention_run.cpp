#include <algorithm>
#include <cstring>
#include <limits>

#include "attention_arguments.h"
#include "attention_checks.h"
#include "attention_plan.h"
#include "call.h"
#include "error.h"
#include "halide_buffer.h"
#include "interval_table.h"
#include "rows.h"

namespace attune::runtime {

namespace {

bool is_empty(const AttentionShape &s) { return s.batch == 0 || s.heads == 0 || s.queries == 0; }

/** No keys: every row has nothing to attend to. */
void answer_without_keys(const attune_attention_args &args) {
    const size_t bytes = static_cast<size_t>(args.out.extent[3]) * element_size(args.out.type);
    auto *out = static_cast<char *>(args.out.data);
    for_each_row(args.out, [&](int64_t offset) { std::memset(out + offset, 0, bytes); });
    if (!args.lse) return;
    auto *lse = static_cast<char *>(args.lse->data);
    for_each_row(*args.lse, [&](int64_t offset) {
        auto *row = reinterpret_cast<float *>(lse + offset);
        std::fill(row, row + args.lse->extent[2], -std::numeric_limits<float>::infinity());
    });
}

MaskInput mask_input(const attune_attention_args &args, const AttentionShape &s) {
    return {s.batch, s.queries, s.keys, args.has_offset ? args.offset : 0, args.offsets, args.key_lengths, args.params};
}

/** One run's scratch and arguments. */
class AttentionRun {
public:
    AttentionRun(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape, Call &call)
        : plan_(plan), args_(args), s_(shape), call_(call), offsets_(call), lse_scratch_(call) {}

    Status run() {
        ATTUNE_TRY(offsets_.fill(plan_, args_, s_));
        ATTUNE_TRY(place_lse());
        // Everything that can run short of memory here comes before the first kernel writes to an output.
        Scratch<int32_t> memory(call_), weights_memory(call_);
        IntervalTable table = {}, weights_table = {};
        ATTUNE_TRY(build_interval_table(plan_.program, mask_input(args_, s_), call_, memory, table));
        const bool masks_differ = args_.weights && plan_.kernel_mask.mask.root.kind != text::MaskKind::none;
        if (masks_differ)
            ATTUNE_TRY(build_interval_table(plan_.weights_program, mask_input(args_, s_), call_, weights_memory, weights_table));
        ATTUNE_TRY(run_attention(table));
        return args_.weights ? run_weights(masks_differ ? weights_table : table) : Status();
    }

private:
    /** The caller's log-sum-exp, or scratch for it: kernels always write it. */
    Status place_lse() {
        if (args_.lse) {
            lse_ = *args_.lse;
            return {};
        }
        const int64_t extents[3] = {s_.batch, s_.heads, s_.queries};
        const int64_t count = extents[0] * extents[1] * extents[2];
        if (!lse_scratch_.allocate(static_cast<size_t>(count))) return out_of_memory("the log-sum-exp", count * 4);
        lse_ = attune_contiguous(lse_scratch_.data(), ATTUNE_F32, 3, extents);
        ATTUNE_REQUIRE(lse_.stride[0] <= INT32_MAX, "q has {} heads of {} queries; their product must be at most {}", s_.heads, s_.queries,
                       INT32_MAX);
        return {};
    }

    HalideBuffer describe(const IntervalTable &table) const {
        return HalideBuffer(table.data, ATTUNE_I32,
                            {{s_.batch, table.batch_stride}, {s_.queries, table.row_stride}, {table.intervals, 2}, {2, 1}});
    }

    Status run_attention(const IntervalTable &table) {
        ScoreArguments score(args_, s_, offsets_);
        HalideBuffer v(args_.v, 4), out(args_.out, 4), lse(lse_, 3), intervals = describe(table);
        void *arguments[16] = {nullptr, score.q.get(), score.k.get(), v.get(), intervals.get()};
        void **next = score.append(arguments + 5);
        *next++ = out.get();
        *next++ = lse.get();
        return run_kernel(*plan_.kernel, arguments, call_);
    }

    Status run_weights(const IntervalTable &table) {
        ScoreArguments score(args_, s_, offsets_);
        HalideBuffer weights(*args_.weights, 4), lse(lse_, 3), intervals = describe(table);
        void *arguments[15] = {nullptr, score.q.get(), score.k.get(), intervals.get()};
        void **next = score.append(arguments + 4);
        *next++ = lse.get();
        *next++ = weights.get();
        return run_kernel(*plan_.weights_kernel, arguments, call_);
    }

    const attune_attention_plan &plan_;
    const attune_attention_args &args_;
    const AttentionShape &s_;
    Call &call_;
    KernelOffsets offsets_;
    Scratch<float> lse_scratch_;
    attune_tensor lse_ = {};
};

Status run_checked(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape, Call &call) {
    if (is_empty(shape)) return {};
    if (shape.keys > 0) return AttentionRun(plan, args, shape, call).run();
    answer_without_keys(args);
    return {};
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_attention_args_init(attune_attention_args *args) {
    if (!args) return;
    *args = {};
    args->struct_size = sizeof(*args);
    args->temperature = 1.0f;
}

extern "C" attune_status attune_attention_run(const attune_attention_plan *plan, const attune_attention_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_REQUIRE(plan != nullptr, "plan is NULL; it must come from attune_attention_plan_create");
        ATTUNE_TRY(check_struct(args, "args", "attune_attention_args_init"));
        ATTUNE_TRY(check_call(call));
        AttentionShape shape = {};
        ATTUNE_TRY(check_attention(*plan, *args, shape));
        Call scope(call);
        return run_checked(*plan, *args, shape, scope);
    });
}
