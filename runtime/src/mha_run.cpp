#include <algorithm>

#include "call.h"
#include "error.h"
#include "mha.h"
#include "mha_masks.h"
#include "tensor.h"

namespace attune::runtime {

namespace {

/** Heads that lie side by side in each token of [B, tokens, heads * width], as [B, heads, tokens, width]. */
attune_tensor heads_of(const attune_tensor &tokens, int64_t heads, int64_t width) {
    const int64_t extents[4] = {tokens.extent[0], heads, tokens.extent[1], width};
    attune_tensor view = attune_contiguous(tokens.data, tokens.type, 4, extents);
    view.stride[0] = tokens.stride[0], view.stride[1] = width, view.stride[2] = tokens.stride[1];
    return view;
}

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
        ATTUNE_TRY(project(mha_.query.get(), operands_.query, query_, query, most));
        ATTUNE_TRY(project(mha_.key.get(), operands_.key, key_, key, most));
        ATTUNE_TRY(project(mha_.value.get(), operands_.value, value_, value, most));
        if (mha_.output) ATTUNE_TRY(make(operands_.query, mha_.heads * mha_.value_dim, context_, context));
        attention.q = heads_of(query, mha_.heads, mha_.head_dim), attention.k = heads_of(key, mha_.kv_heads, mha_.head_dim);
        attention.v = heads_of(value, mha_.kv_heads, mha_.value_dim), attention.out = heads_of(context, mha_.heads, mha_.value_dim);
        ATTUNE_TRY(status_of(attune_attention_run(mha_.attention.get(), &attention, &inner_)));
        most = std::max(most, inner_.workspace_bytes);
        return mha_.output ? run_linear(*mha_.output, context, operands_.out, most) : Status();
    }

private:
    int64_t keys() const {
        const attune_cache *cache = args_.attention.cache;
        if (!cache) return operands_.new_keys();
        return cache->k.extent[2] * (cache->block_table ? cache->block_table->extent[1] : 1);
    }

    /** Scratch for the tokens of `like` with that many channels. */
    Status make(const attune_tensor &like, int64_t channels, Scratch<char> &scratch, attune_tensor &made) {
        const int64_t extents[3] = {like.extent[0], like.extent[1], channels};
        ATTUNE_TRY(check_count("a projection", {extents[0], extents[1], extents[2]}));
        const int64_t bytes = extents[0] * extents[1] * extents[2] * static_cast<int64_t>(element_size(mha_.dtype));
        if (!scratch.allocate(static_cast<size_t>(bytes))) return out_of_memory("a projection", bytes);
        made = attune_contiguous(scratch.data(), mha_.dtype, 3, extents);
        return {};
    }

    Status run_linear(const attune_linear &layer, const attune_tensor &x, const attune_tensor &y, size_t &most) {
        attune_linear_args args;
        attune_linear_args_init(&args);
        args.x = x, args.y = y;
        if (&layer == mha_.output.get() && args_.residual) args.residual = &operands_.residual;
        Status status = status_of(attune_linear_run(&layer, &args, &inner_));
        most = std::max(most, inner_.workspace_bytes);
        return status;
    }

    /** y = x where there is nothing to project. */
    Status project(const attune_linear *layer, const attune_tensor &x, Scratch<char> &scratch, attune_tensor &y, size_t &most) {
        y = x;
        if (!layer) return {};
        ATTUNE_TRY(make(x, attune_linear_out(layer), scratch, y));
        return run_linear(*layer, x, y, most);
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
    if (!args) return;
    *args = {};
    args->struct_size = sizeof(*args);
    attune_attention_args_init(&args->attention);
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
