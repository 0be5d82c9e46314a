#include <algorithm>

#include "runtime/src/attention/cache.h"
#include "runtime/src/error.h"
#include "runtime/src/kernel/call.h"
#include "runtime/src/layer/mha.h"
#include "runtime/src/layer/mha_masks.h"
#include "runtime/src/tensor/overlap.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

/** Heads that lie side by side in each token of [B, tokens, heads * width], as [B, heads, tokens, width]. */
attune_tensor heads_of(const attune_tensor &tokens, int64_t heads, int64_t width) {
    const int64_t extents[4] = {tokens.extent[0], heads, tokens.extent[1], width};
    attune_tensor view = attune_contiguous(tokens.data, tokens.type, 4, extents);
    view.stride[0] = tokens.stride[0], view.stride[1] = width, view.stride[2] = tokens.stride[1];
    return view;
}

/** Some channels of every token. */
attune_tensor part_of(const attune_tensor &tokens, const Columns &columns) { return slice(tokens, 2, columns.first, columns.count); }

/** One run's scratch: what the projections give, and what attention gives to the last one. */
class MhaRun {
public:
    MhaRun(const attune_mha &mha, const attune_mha_args &args, const MhaOperands &operands, Call &call, attune_call &inner)
        : mha_(mha), args_(args), operands_(operands), inner_(inner), query_(call), key_(call), value_(call), context_(call), masks_(call) {
    }

    /** `most` becomes the most scratch that one of the calls inside held. */
    Status run(size_t &most) {
        attune_attention_args attention = args_.attention;
        ATTUNE_TRY(masks_.fill(args_, operands_, mha_, keys(), attention));
        attune_tensor query, key, value, context = operands_.out;
        ATTUNE_TRY(project_all(query, key, value, most));
        if (mha_.output) ATTUNE_TRY(make(operands_.query, mha_.heads * mha_.value_dim, context_, context));
        attention.q = heads_of(query, mha_.heads, mha_.head_dim), attention.k = heads_of(key, mha_.kv_heads, mha_.head_dim);
        attention.v = heads_of(value, mha_.kv_heads, mha_.value_dim), attention.out = heads_of(context, mha_.heads, mha_.value_dim);
        ATTUNE_TRY(status_of(attune_attention_run(mha_.attention.get(), &attention, &inner_)));
        most = std::max(most, inner_.workspace_bytes);
        if (!mha_.output) return {};
        const attune_tensor *residual = args_.residual ? &operands_.residual : nullptr;
        return run_linear(*mha_.output, {0, mha_.output->out}, context, operands_.out, residual, most);
    }

private:
    int64_t keys() const {
        const attune_cache *cache = args_.attention.cache;
        return cache ? cache_capacity(*cache) : operands_.new_keys();
    }

    /** Scratch for the tokens of `like` with that many channels. */
    Status make(const attune_tensor &like, int64_t channels, Scratch<char> &scratch, attune_tensor &made) {
        const int64_t extents[3] = {like.extent[0], like.extent[1], channels};
        return make_scratch_tensor("a projection", mha_.dtype, 3, extents, scratch, made);
    }

    Status run_linear(const attune_linear &layer, const Columns &columns, const attune_tensor &x, const attune_tensor &y,
                      const attune_tensor *residual, size_t &most) {
        attune_linear_args args;
        attune_linear_args_init(&args);
        args.x = x, args.y = y, args.residual = residual;
        Status status = run_columns(layer, columns, args, &inner_);
        most = std::max(most, inner_.workspace_bytes);
        return status;
    }

    /** Whether one layer gives all three, of one input. A batch item of what it gives has to fit where strides count in 32 bits. */
    bool project_together() const {
        return mha_.is_fused() && operands_.queries() <= INT32_MAX / mha_.query.layer->out && same_view(operands_.query, operands_.key) &&
               same_view(operands_.key, operands_.value);
    }

    Status project_all(attune_tensor &query, attune_tensor &key, attune_tensor &value, size_t &most) {
        if (project_together()) {
            const attune_linear &layer = *mha_.query.layer;
            attune_tensor all;
            ATTUNE_TRY(make(operands_.query, layer.out, query_, all));
            ATTUNE_TRY(run_linear(layer, {0, layer.out}, operands_.query, all, nullptr, most));
            query = part_of(all, mha_.query.columns), key = part_of(all, mha_.key.columns), value = part_of(all, mha_.value.columns);
            return {};
        }
        ATTUNE_TRY(project(mha_.query, operands_.query, query_, query, most));
        ATTUNE_TRY(project(mha_.key, operands_.key, key_, key, most));
        return project(mha_.value, operands_.value, value_, value, most);
    }

    /** y = x where there is nothing to project. */
    Status project(const Projection &projection, const attune_tensor &x, Scratch<char> &scratch, attune_tensor &y, size_t &most) {
        y = x;
        if (!projection.layer) return {};
        ATTUNE_TRY(make(x, projection.columns.count, scratch, y));
        return run_linear(*projection.layer, projection.columns, x, y, nullptr, most);
    }

    const attune_mha &mha_;
    const attune_mha_args &args_;
    const MhaOperands &operands_;
    attune_call &inner_;
    Scratch<char> query_, key_, value_, context_;
    MhaMasks masks_;
};

Status run_checked(const attune_mha &mha, const attune_mha_args &args, attune_call *call, size_t &most) {
    MhaOperands operands = {};
    ATTUNE_TRY(check_mha(mha, args, operands));
    attune_call inner = ATTUNE_CALL_INIT;
    if (call) inner = *call;
    Call scope(call);
    return MhaRun(mha, args, operands, scope, inner).run(most);
}

} // namespace

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" void attune_mha_args_init(attune_mha_args *args) {
    if (reset(args)) attune_attention_args_init(&args->attention);
}

extern "C" attune_status attune_mha_run(const attune_mha *mha, const attune_mha_args *args, attune_call *call) {
    return guarded([&]() -> Status {
        ATTUNE_REQUIRE(mha != nullptr, "mha is NULL; it must come from attune_mha_create");
        ATTUNE_TRY(check_struct(args, "args", "attune_mha_args_init"));
        ATTUNE_TRY(check_call(call));
        size_t inside = 0; // held beside the projections, by one call at a time
        Status status = run_checked(*mha, *args, call, inside);
        if (call) call->workspace_bytes += inside;
        return status;
    });
}
