#include "decoder.h"

#include <algorithm>
#include <utility>

#include "bfloat16.h"
#include "error.h"

namespace gpt {

using attune::TensorView;

namespace {

attune::AttentionPlan make_plan(const DecoderShape &shape) {
    attune::AttentionDesc desc;
    desc.dtype = shape.dtype, desc.head_dim = shape.head_dim, desc.mask = shape.mask, desc.position = shape.position;
    auto plan = attune::AttentionPlan::create(desc);
    require(plan.status());
    return std::move(*plan);
}

TensorView vector_of(const std::vector<float> &values) { return TensorView(values.data(), {static_cast<int64_t>(values.size())}); }

} // namespace

Decoder::Decoder(Network network, int32_t threads)
    : shape_(std::move(network.shape)), weights_(std::move(network.weights)), plan_(make_plan(shape_)), call_(threads), x_(shape_.dtype),
      normalised_(shape_.dtype), projected_(shape_.dtype), attended_(shape_.dtype), inner_(shape_.dtype), logits_(shape_.dtype) {}

attune::KvCache Decoder::make_cache(int64_t longest, int64_t pages) const {
    require(longest >= 1 && longest <= shape_.longest, "a sequence of {} tokens is asked for; the model takes 1 to {}", longest,
            shape_.longest);
    attune::KvCacheDesc desc;
    desc.dtype = shape_.dtype, desc.layers = static_cast<int32_t>(weights_.blocks.size());
    desc.kv_heads = shape_.kv_heads, desc.head_dim = shape_.head_dim;
    desc.capacity = longest, desc.page_tokens = page_tokens, desc.pages = pages;
    auto cache = attune::KvCache::create(desc);
    require(cache.status());
    return std::move(*cache);
}

const float *Decoder::run(attune::KvCache &cache, const Step &step, LogitsOf which) {
    const auto sequences = static_cast<int64_t>(step.sequences.size()), count = static_cast<int64_t>(step.tokens.size());
    require(sequences > 0 && count > 0 && count % sequences == 0, "a step has {} tokens of {} sequences; it must have 1 or more of each",
            count, sequences);
    require(cache.begin(step.sequences, count / sequences));
    const TensorView x = embed(cache, step, count / sequences);
    for (size_t i = 0; i < weights_.blocks.size(); ++i) {
        const auto layer = cache.layer(static_cast<int32_t>(i));
        require(layer.status());
        attend(i, x, *layer);
        transform(weights_.blocks[i], x);
    }
    const float *const result = logits(x, which);
    require(cache.end());
    return result;
}

/** x [sequences, T, width]: rows of the table of tokens, with those of the table of positions added if there is one. */
TensorView Decoder::embed(const attune::KvCache &cache, const Step &step, int64_t tokens) {
    const TensorView x = x_.view({static_cast<int64_t>(step.sequences.size()), tokens, shape_.width});
    const TensorView table = weights_.tokens.view({shape_.vocabulary, shape_.width});
    const TensorView positions = weights_.has_positions ? weights_.positions.view({shape_.longest, shape_.width}) : TensorView();
    for (size_t i = 0; i < step.sequences.size(); ++i) { // each has a length of its own
        const auto item = static_cast<int64_t>(i);
        const TensorView rows = part_of(x, item * tokens * shape_.width, {tokens, shape_.width}, {shape_.width, 1});
        const TensorView ids(&step.tokens[i * static_cast<size_t>(tokens)], {tokens});
        attune::EmbeddingOptions options;
        options.positions = weights_.has_positions ? &positions : nullptr, options.offset = cache.length(step.sequences[i]);
        require(attune::embedding(ids, table, rows, options));
    }
    return x;
}

/** x += attention. Q, K and V of all heads are one product, and its rows' parts what attention reads: [sequences, heads, T, head_dim]. */
void Decoder::attend(size_t number, const TensorView &x, const attune_cache &cache) {
    const Block &block = weights_.blocks[number];
    const int64_t items = x.extent[0], tokens = x.extent[1], dim = shape_.head_dim, heads = shape_.heads, kv_heads = shape_.kv_heads;
    const int64_t row = (heads + 2 * kv_heads) * dim;
    const TensorView projected = projected_.view({items, tokens, row}), attended = attended_.view({items, tokens, heads * dim});
    require(block.query_key_value.run(normalised(block.before_attention, x), projected, nullptr, &call_));
    const auto heads_of = [&](int64_t first, int64_t count) {
        return part_of(projected, first * dim, {items, count, tokens, dim}, {tokens * row, dim, row, 1});
    };
    const TensorView out = part_of(attended, 0, {items, heads, tokens, dim}, {tokens * heads * dim, dim, heads * dim, 1});
    attune::AttentionArgs args(heads_of(0, heads), heads_of(heads, kv_heads), heads_of(heads + kv_heads, kv_heads), out);
    args.cache = &cache;
    const int64_t capacity = cache.k.extent[2] * cache.block_table->extent[1];
    const TensorView observed = on_weights_ ? observed_.view({items, heads, tokens, capacity}) : TensorView();
    args.weights = on_weights_ ? &observed : nullptr;
    require(plan_.run(args, call_));
    if (on_weights_) on_weights_(number, observed);
    require(block.output.run(attended, x, &x, &call_));
}

/** x += mlp. */
void Decoder::transform(const Block &block, const TensorView &x) {
    const TensorView inner = inner_.view({x.extent[0], x.extent[1], block.up.out()});
    require(block.up.run(normalised(block.before_mlp, x), inner, nullptr, &call_));
    require(block.down.run(inner, x, &x, &call_));
}

const float *Decoder::logits(const TensorView &x, LogitsOf which) {
    const int64_t items = x.extent[0], tokens = x.extent[1], width = shape_.width;
    const int64_t first = which == LogitsOf::all_tokens ? 0 : tokens - 1;
    const TensorView wanted = part_of(x, first * width, {items, tokens - first, width}, {tokens * width, width, 1});
    const TensorView logits = logits_.view({items, tokens - first, shape_.vocabulary});
    require(weights_.head.run(normalised(weights_.last, wanted), logits, nullptr, &call_));
    if (shape_.dtype == ATTUNE_F32) return static_cast<const float *>(logits.data);
    wide_logits_.resize(static_cast<size_t>(items * (tokens - first) * shape_.vocabulary));
    const auto *halves = static_cast<const uint16_t *>(logits.data);
    std::transform(halves, halves + wide_logits_.size(), wide_logits_.begin(), from_bf16);
    return wide_logits_.data();
}

TensorView Decoder::normalised(const Norm &norm, const TensorView &x) {
    const TensorView y = normalised_.view({x.extent[0], x.extent[1], x.extent[2]});
    const TensorView weight = vector_of(norm.weight), bias = vector_of(norm.bias);
    attune::NormOptions options;
    options.weight = &weight, options.epsilon = norm.epsilon;
    if (norm.bias.empty()) {
        require(attune::rms_norm(x, y, options, &call_));
    } else {
        options.bias = &bias;
        require(attune::layer_norm(x, y, options, &call_));
    }
    return y;
}

} // namespace gpt
