#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/src/attention/arguments.h"
#include "runtime/src/attention/cache_append.h"
#include "runtime/src/attention/tasks.h"
#include "runtime/src/cuda/attention.h"
#include "runtime/src/error.h"
#include "runtime/src/kernel/cpu.h"
#include "runtime/src/tensor/joined_axes.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

bool is_empty(const AttentionShape &s) { return s.batch == 0 || s.heads == 0 || s.queries == 0; }

/** Without keys a row's log-sum-exp is that of its head's sink. */
void write_empty_lse(const attune_tensor &lse, const attune_tensor *sinks) {
    auto *data = static_cast<float *>(lse.data);
    for (int64_t b = 0; b < lse.extent[0]; ++b)
        for (int64_t h = 0; h < lse.extent[1]; ++h) {
            float *row = data + b * effective_stride(lse, 0) + h * effective_stride(lse, 1);
            const float value =
                sinks ? static_cast<const float *>(sinks->data)[h * effective_stride(*sinks, 0)] : -std::numeric_limits<float>::infinity();
            std::fill(row, row + lse.extent[2], value);
        }
}

/** No keys: every row has nothing to attend to. */
void answer_without_keys(const attune_attention_args &args) {
    const size_t bytes = static_cast<size_t>(args.out.extent[3]) * attune_type_size(args.out.type);
    const JoinedAxes rows({&args.out}, 3);
    JoinedAxes::Index row;
    do
        std::memset(element_at(args.out, row.elements[0]), 0, bytes);
    while (rows.advance(row));
    if (args.lse) write_empty_lse(*args.lse, args.sinks);
}

/** One run's scratch and arguments. */
class AttentionRun {
public:
    AttentionRun(const attune_attention_plan &plan, const RunCache &cache, const AttentionShape &shape, Call &call)
        : plan_(plan), cache_(cache), args_(cache.args()), s_(shape), call_(call), integers_(call), masks_(call), operands_(call),
          pages_(call), lse_scratch_(call) {}

    Status run() {
        // All that is refused comes before the first byte that is written to the cache or an output. After that only a kernel can fail, for
        // want of memory or of threads.
        ATTUNE_TRY(integers_.fill(plan_, args_, s_));
        ATTUNE_TRY(place_lse());
        ATTUNE_TRY(masks_.fill(plan_, args_, s_));
        ATTUNE_TRY(cache_.check_ring(plan_.program, s_, call_));
        ATTUNE_TRY(operands_.fill(plan_, cache_, s_));
        ATTUNE_TRY(pages_.fill(cache_.cache(), s_));
        if (cache_.cache()) append(*cache_.cache(), operands_.placed_k(), args_.v);
        ATTUNE_TRY(run_attention());
        if (args_.weights) ATTUNE_TRY(run_weights(*args_.weights, 0));
        if (!args_.scores) return {};
        ATTUNE_TRY(run_weights(*args_.scores, args_.score_stage));
        if (cache_.cache()) clear_past_tokens(*args_.scores);
        return {};
    }

    /** The new tokens into the cache, and no more. */
    Status run_append() {
        ATTUNE_TRY(operands_.fill(plan_, cache_, s_));
        ATTUNE_TRY(pages_.fill(cache_.cache(), s_));
        append(*cache_.cache(), operands_.placed_k(), args_.v);
        return {};
    }

private:
    /** The caller's log-sum-exp, or scratch for it: kernels always write it. */
    Status place_lse() {
        if (args_.lse) {
            lse_ = *args_.lse;
            return {};
        }
        const int64_t extents[3] = {s_.batch, s_.heads, s_.queries};
        return make_scratch_tensor("the log-sum-exp", ATTUNE_F32, 3, extents, lse_scratch_, lse_);
    }

    PreparedRun prepared() const { return {plan_, cache_, args_, s_, integers_, masks_, operands_, pages_}; }

    AttentionWork work() const {
        const bool rows_alike = masks_.table().row_stride == 0 && !masks_.attend().used && !plan_.own_kernel;
        return {s_.batch * s_.heads, s_.queries, s_.keys, s_.head_dim + s_.value_dim, rows_alike};
    }

    Status run_attention() {
        ScoreArguments score(prepared(), false);
        const attune_cache *cache = cache_.cache();
        HalideBuffer v(cache ? cache->v : args_.v, 4), value_scale = scale_buffer(cache ? cache->v_scale : nullptr), out(args_.out, 4),
                                                       lse(lse_, 3);
        const attune_kernel &kernel = kernel_for(plan_, args_, s_);
        int32_t rows_per_task = attention_rows_per_task(work(), call_.threads(), attention_rows_per_tile(cpu_class(), kernel.head_dim));
        void *arguments[1 + ScoreArguments::count + 5] = {};
        void **next = score.append(arguments + 1);
        *next++ = v.get();
        *next++ = value_scale.get();
        *next++ = &rows_per_task;
        *next++ = out.get();
        *next++ = lse.get();
        return run_kernel(kernel, arguments, call_);
    }

    /** The weights, or the scores at a stage. */
    Status run_weights(const attune_tensor &output, int32_t stage) {
        ScoreArguments score(prepared(), true);
        HalideBuffer weights(output, 4), lse(lse_, 3);
        void *arguments[1 + ScoreArguments::count + 3] = {};
        void **next = score.append(arguments + 1);
        *next++ = &stage;
        *next++ = lse.get();
        *next++ = weights.get();
        return run_kernel(*plan_.weights_kernel, arguments, call_);
    }

    /** Where a cache has no key of an item's there is no score: not that of another item's keys, which the kernel reads. */
    void clear_past_tokens(const attune_tensor &scores) const {
        for (int64_t b = 0; b < s_.batch; ++b)
            for (int64_t h = 0; h < s_.heads; ++h)
                for (int64_t i = 0; i < s_.queries; ++i) {
                    float *row = static_cast<float *>(scores.data) + b * scores.stride[0] + h * scores.stride[1] + i * scores.stride[2];
                    std::fill(row + read_integer(*args_.key_lengths, b), row + s_.keys, -std::numeric_limits<float>::infinity());
                }
    }

    const attune_attention_plan &plan_;
    const RunCache &cache_;
    const attune_attention_args &args_;
    const AttentionShape &s_;
    Call &call_;
    KernelIntegers integers_;
    RunMasks masks_;
    RunOperands operands_;
    RunPages pages_;
    Scratch<float> lse_scratch_;
    attune_tensor lse_ = {};
};

Status run_checked(const attune_attention_plan &plan, const RunCache &cache, const AttentionShape &shape, Call &call) {
    if (is_empty(shape)) return cache.cache() && shape.keys > 0 ? AttentionRun(plan, cache, shape, call).run_append() : Status();
    if (shape.keys > 0) return AttentionRun(plan, cache, shape, call).run();
    answer_without_keys(cache.args());
    return {};
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_attention_args_init(attune_attention_args *args) {
    if (reset(args)) args->temperature = 1.0f;
}

extern "C" attune_status attune_attention_run(const attune_attention_plan *plan, const attune_attention_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_REQUIRE(plan != nullptr, "plan is NULL; it must come from attune_attention_plan_create");
        ATTUNE_TRY(check_struct(args, "args", "attune_attention_args_init"));
        ATTUNE_TRY(check_call(call));
        if (plan->device == ATTUNE_CUDA) return run_cuda_attention(*plan, *args, call);
        AttentionShape shape = {};
        ATTUNE_TRY(check_operands(*plan, *args, shape));
        Call scope(call);
        RunCache cache(scope);
        ATTUNE_TRY(cache.fill(*args, shape));
        ATTUNE_TRY(check_attention(*plan, cache, shape));
        return run_checked(*plan, cache, shape, scope);
    });
}
