// Blocks of transformers on Attune's layers: encoder and decoder, post-norm (Attention Is All You Need, section 3.1) and pre-norm (Xiong
// et al., arXiv 2002.04745), and positions added to the input.
//
// Headers alone: a block is a few calls of attune.hpp in a row, which a program may as well make itself, in an order of its own.
#pragma once

#include <algorithm>
#include <array>
#include <exception>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "attune/attune.hpp"
#include "attune/layer_norm.hpp"
#include "attune/positions.hpp"

namespace attune {

/** Memory that blocks use while they run and keep for the next run: in the steady state nothing is allocated. One for each thread, for all
 * blocks of a stack. */
class BlockMemory {
public:
    /** A contiguous tensor of x's type and shape, but with `channels` channels, in the memory number `place`. Its data is nullptr where
     * memory runs out. */
    TensorView like(const TensorView &x, int64_t channels, size_t place) {
        attune_tensor view = x;
        int64_t count = 1;
        bool fits = true;
        view.extent[x.rank - 1] = channels;
        for (int32_t axis = x.rank - 1; axis >= 0; axis--) {
            view.stride[axis] = count;
            fits = fits && !__builtin_mul_overflow(count, std::max<int64_t>(view.extent[axis], 1), &count);
        }
        const int64_t floats = x.type == ATTUNE_F32 ? count : count / 2 + count % 2;
        view.data = fits ? memory(place, static_cast<size_t>(floats)) : nullptr;
        return view;
    }

private:
    float *memory(size_t place, size_t count) {
        try {
            if (memory_[place].size() < count) memory_[place] = {}, memory_[place].resize(count); // not both at once
        } catch (const std::exception &) { // bad_alloc or length_error; nothing here throws
            return nullptr;
        }
        return memory_[place].data();
    }

    std::array<std::vector<float>, 3> memory_;
};

/** Two linear layers: down(activation(up x)); with a gate, down(activation(gate x) up x). */
struct FeedForwardDesc {
    TensorView up_weight, down_weight; // [F, C], [C, F]
    const TensorView *up_bias = nullptr, *down_bias = nullptr;
    const TensorView *gate_weight = nullptr; // [F, C]; none
    attune_activation activation = ATTUNE_RELU;
};

/** What an encoder block is made of, as torch.nn.TransformerEncoderLayer. `attention.dtype`, f32 or bf16, is that of tokens and of all
 * linear layers; weights of either type are taken. */
struct EncoderBlockDesc {
    MultiHeadAttentionDesc attention; // with an output projection; d_in = d_out = C
    FeedForwardDesc feed_forward;
    LayerNormDesc attention_norm, feed_forward_norm;
    bool norm_first = false; // pre-norm: x + f(norm(x)); otherwise norm(x + f(x))
};

/** What a decoder block is made of, as torch.nn.TransformerDecoderLayer; `self_attention.mask` is "causal" as a rule. Both attentions have
 * the same dtype, which is that of tokens and of all linear layers. */
struct DecoderBlockDesc {
    MultiHeadAttentionDesc self_attention, cross_attention;
    FeedForwardDesc feed_forward;
    LayerNormDesc self_norm, cross_norm, feed_forward_norm;
    bool norm_first = false;
};

/** Numbers and tensors of one attention within a block: see attune_mha_args and attune_attention_args. */
struct BlockAttention {
    const TensorView *mask = nullptr, *key_padding = nullptr;
    attune_mask_polarity polarity = attune_mask_polarity(0); // what true says in both; to be named where one is given
    const TensorView *key_lengths = nullptr, *positions = nullptr;
    const attune_cache *cache = nullptr;
    const TensorView *weights = nullptr; // out
    float dropout = 0;                   // of the weights
    uint64_t seed = 0;
};

namespace block {

/** [B, N, C] or [N, C] of the block's type, the last axis contiguous. */
inline Status check_tokens(const TensorView &x, attune_type dtype, int64_t channels, const std::string &name) {
    const auto wrong = [&](const std::string &sentence) { return Status{ATTUNE_INVALID_ARGUMENT, name + sentence}; };
    if (x.rank != 2 && x.rank != 3) return wrong(".rank is " + std::to_string(x.rank) + "; it must be 2 or 3");
    if (x.type != dtype)
        return wrong(".type is " + std::string(attune_type_name(x.type)) + "; it must be " + attune_type_name(dtype) + ", as the block's");
    const int64_t given = x.extent[x.rank - 1];
    if (given != channels) return wrong(" has " + std::to_string(given) + " channels; the layer takes " + std::to_string(channels));
    for (int32_t axis = 0; axis < x.rank; axis++)
        if (x.extent[axis] < 0)
            return wrong(".extent[" + std::to_string(axis) + "] is " + std::to_string(x.extent[axis]) + "; it must be 0 or more");
    if (channels != 1 && x.stride[x.rank - 1] != 1)
        return wrong(".stride of the channels is " + std::to_string(x.stride[x.rank - 1]) + "; it must be 1");
    return x.data || x.extent[0] == 0 || x.extent[1] == 0 ? Status() : wrong(".data is NULL");
}

/** A block's part, and what making it gave. */
struct Part {
    const char *name;
    Status status;
};
inline Status first_error(std::initializer_list<Part> parts) {
    for (const Part &part : parts)
        if (!part.status) return {part.status.code, part.name + (": " + part.status.message)};
    return {};
}

/** A part that tokens go through, and its channels: all have those of attention's output. */
struct Width {
    const char *name;
    int64_t channels;
};
inline Status check_widths(int64_t channels, std::initializer_list<Width> parts) {
    for (const Width &part : parts)
        if (part.channels != channels)
            return {ATTUNE_INVALID_ARGUMENT, part.name + (" has " + std::to_string(part.channels)) + " channels; it must have " +
                                                 std::to_string(channels) + ", as attention's output"};
    return {};
}

/** The channels that a layer of attention takes: of tokens as they are, without a weight for queries, those that it gives. */
inline int64_t query_channels(const MultiHeadAttentionDesc &desc, const MultiHeadAttention &attention) {
    return desc.query_weight.rank == 2 ? desc.query_weight.extent[1] : attention.out();
}

inline Status no_memory() { return {ATTUNE_OUT_OF_MEMORY, "there is no memory for the tokens between a block's layers"}; }

/** Linear, activation, linear. */
class FeedForward {
public:
    static Result<FeedForward> create(const FeedForwardDesc &desc, attune_type dtype) {
        LinearDesc up, down;
        up.dtype = down.dtype = dtype;
        up.weight = desc.up_weight, up.bias = desc.up_bias, up.activation = desc.activation, up.gate = desc.gate_weight;
        down.weight = desc.down_weight, down.bias = desc.down_bias;
        Result<Linear> first = Linear::create(up), second = Linear::create(down);
        if (Status status = first_error({{"up", first.status()}, {"down", second.status()}}); !status) return status;
        if (second->in() != first->out())
            return Status{ATTUNE_INVALID_ARGUMENT,
                          "down takes " + std::to_string(second->in()) + " channels; up gives " + std::to_string(first->out())};
        return FeedForward{std::move(*first), std::move(*second)};
    }
    /** y = down(up(x)) + residual. */
    Status run(const TensorView &x, const TensorView &residual, const TensorView &y, BlockMemory &memory, attune_call *call) const {
        const TensorView hidden = memory.like(x, up.out(), 1);
        if (!hidden.data) return no_memory();
        const Status status = up.run(x, hidden, nullptr, call);
        return status ? down.run(hidden, y, &residual, call) : status;
    }

    Linear up, down;
};

/** What a block takes and gives: y of x's shape, and memory for the tokens between its layers. */
inline Status check_ends(const TensorView &x, const TensorView &y, attune_type dtype, int64_t channels, const TensorView &state) {
    for (const auto &[tensor, name] : {std::pair(&x, "x"), std::pair(&y, "y")})
        if (Status status = check_tokens(*tensor, dtype, channels, name); !status) return status;
    const auto wrong = [&](const std::string &what, int64_t is, int64_t must) {
        return Status{ATTUNE_INVALID_ARGUMENT,
                      "y." + what + " is " + std::to_string(is) + "; it must be " + std::to_string(must) + ", as in x"};
    };
    if (y.rank != x.rank) return wrong("rank", y.rank, x.rank);
    for (int32_t axis = 0; axis < x.rank; axis++)
        if (y.extent[axis] != x.extent[axis]) return wrong("extent[" + std::to_string(axis) + "]", y.extent[axis], x.extent[axis]);
    return state.data ? Status() : no_memory();
}

/** What a decoder attends to: of x's rank and batch. */
inline Status check_encoded(const TensorView &encoded, const TensorView &x) {
    const auto wrong = [&](const std::string &what, int64_t is, int64_t must) {
        return Status{ATTUNE_INVALID_ARGUMENT,
                      "encoded." + what + " is " + std::to_string(is) + "; it must be " + std::to_string(must) + ", as in x"};
    };
    if (encoded.rank != x.rank) return wrong("rank", encoded.rank, x.rank);
    if (x.rank == 3 && encoded.extent[0] != x.extent[0]) return wrong("extent[0]", encoded.extent[0], x.extent[0]);
    return {};
}

/** y = attention(x) + residual. */
inline Status attend(const MultiHeadAttention &attention, const TensorView &x, const TensorView *keys, const TensorView &residual,
                     const TensorView &y, const BlockAttention &options, attune_call *call) {
    MultiHeadAttentionArgs args(x, y);
    args.key = keys, args.residual = &residual;
    args.mask = options.mask, args.key_padding = options.key_padding, args.polarity = options.polarity;
    args.attention.key_lengths = options.key_lengths, args.attention.positions = options.positions;
    args.attention.cache = options.cache, args.attention.weights = options.weights;
    args.attention.dropout = options.dropout, args.attention.seed = options.seed;
    return attention.run(args, call);
}

/** y = x + layer(norm(x)) or norm(x + layer(x)); layer(from, residual, to) adds the residual. x may be y, and is not read once y is
 * written. */
template <typename Layer> Status sublayer(const TensorView &x, const TensorView &y, const LayerNorm &norm, bool norm_first,
                                          BlockMemory &memory, attune_call *call, const Layer &layer) {
    const TensorView between = memory.like(x, x.extent[x.rank - 1], 0);
    if (!between.data) return no_memory();
    const Status status = norm_first ? norm.run(x, between, call) : layer(x, x, between);
    if (!status) return status;
    return norm_first ? layer(between, x, y) : norm.run(between, y, call);
}

} // namespace block

/** Self-attention and a feed-forward network, each with its residual and norm. May run from many threads at once. */
class EncoderBlock {
public:
    static Result<EncoderBlock> create(const EncoderBlockDesc &desc) {
        auto attention = MultiHeadAttention::create(desc.attention);
        auto feed_forward = block::FeedForward::create(desc.feed_forward, desc.attention.dtype);
        auto attention_norm = LayerNorm::create(desc.attention_norm);
        auto feed_forward_norm = LayerNorm::create(desc.feed_forward_norm);
        Status status = block::first_error({{"attention", attention.status()},
                                            {"feed_forward", feed_forward.status()},
                                            {"attention_norm", attention_norm.status()},
                                            {"feed_forward_norm", feed_forward_norm.status()}});
        if (!status) return status;
        status = block::check_widths(attention->out(), {{"attention's input", block::query_channels(desc.attention, *attention)},
                                                        {"feed_forward's input", feed_forward->up.in()},
                                                        {"feed_forward's output", feed_forward->down.out()},
                                                        {"attention_norm", attention_norm->channels()},
                                                        {"feed_forward_norm", feed_forward_norm->channels()}});
        if (!status) return status;
        return EncoderBlock{desc.attention.dtype,       std::move(*attention),         std::move(*feed_forward),
                            std::move(*attention_norm), std::move(*feed_forward_norm), desc.norm_first};
    }

    /** x and y: [B, N, C] or [N, C], of the block's dtype; y may be x. On an error y isn't written. */
    Status run(const TensorView &x, const TensorView &y, BlockMemory &memory, const BlockAttention &options = {},
               attune_call *call = nullptr) const {
        Status status = block::check_tokens(x, dtype_, attention_.out(), "x");
        if (!status) return status;
        const TensorView state = memory.like(x, attention_.out(), 2);
        if (status = block::check_ends(x, y, dtype_, attention_.out(), state); !status) return status;
        status = block::sublayer(x, state, attention_norm_, norm_first_, memory, call, [&](auto &from, auto &residual, auto &to) {
            return block::attend(attention_, from, nullptr, residual, to, options, call);
        });
        if (!status) return status;
        return block::sublayer(state, y, feed_forward_norm_, norm_first_, memory, call,
                               [&](auto &from, auto &residual, auto &to) { return feed_forward_.run(from, residual, to, memory, call); });
    }

private:
    EncoderBlock(attune_type dtype, MultiHeadAttention attention, block::FeedForward feed_forward, LayerNorm attention_norm,
                 LayerNorm feed_forward_norm, bool norm_first)
        : dtype_(dtype), attention_(std::move(attention)), feed_forward_(std::move(feed_forward)),
          attention_norm_(std::move(attention_norm)), feed_forward_norm_(std::move(feed_forward_norm)), norm_first_(norm_first) {}

    attune_type dtype_;
    MultiHeadAttention attention_;
    block::FeedForward feed_forward_;
    LayerNorm attention_norm_, feed_forward_norm_;
    bool norm_first_;
};

/** Self-attention, attention over what an encoder gave, and a feed-forward network. May run from many threads at once. */
class DecoderBlock {
public:
    static Result<DecoderBlock> create(const DecoderBlockDesc &desc) {
        auto self = MultiHeadAttention::create(desc.self_attention), cross = MultiHeadAttention::create(desc.cross_attention);
        auto feed_forward = block::FeedForward::create(desc.feed_forward, desc.self_attention.dtype);
        auto self_norm = LayerNorm::create(desc.self_norm);
        auto cross_norm = LayerNorm::create(desc.cross_norm);
        auto feed_forward_norm = LayerNorm::create(desc.feed_forward_norm);
        if (desc.cross_attention.dtype != desc.self_attention.dtype)
            return Status{ATTUNE_INVALID_ARGUMENT, "cross_attention.dtype is " + std::string(attune_type_name(desc.cross_attention.dtype)) +
                                                       "; it must be " + attune_type_name(desc.self_attention.dtype) +
                                                       ", as self_attention.dtype"};
        Status status = block::first_error({{"self_attention", self.status()},
                                            {"cross_attention", cross.status()},
                                            {"feed_forward", feed_forward.status()},
                                            {"self_norm", self_norm.status()},
                                            {"cross_norm", cross_norm.status()},
                                            {"feed_forward_norm", feed_forward_norm.status()}});
        if (!status) return status;
        status = block::check_widths(self->out(), {{"self_attention's input", block::query_channels(desc.self_attention, *self)},
                                                   {"cross_attention's input", block::query_channels(desc.cross_attention, *cross)},
                                                   {"cross_attention's output", cross->out()},
                                                   {"feed_forward's input", feed_forward->up.in()},
                                                   {"feed_forward's output", feed_forward->down.out()},
                                                   {"self_norm", self_norm->channels()},
                                                   {"cross_norm", cross_norm->channels()},
                                                   {"feed_forward_norm", feed_forward_norm->channels()}});
        if (!status) return status;
        return DecoderBlock(desc.self_attention.dtype, std::move(*self), std::move(*cross), std::move(*feed_forward),
                            {std::move(*self_norm), std::move(*cross_norm), std::move(*feed_forward_norm)}, desc.norm_first);
    }

    /** x and y: [B, N, C] or [N, C], where y may be x; encoded: [B, M, kdim], of the same rank; all of the block's dtype. On an error y
     * isn't written; what the options of an earlier sublayer name (a cache, weights) may be. */
    Status run(const TensorView &x, const TensorView &encoded, const TensorView &y, BlockMemory &memory,
               const BlockAttention &self_options = {}, const BlockAttention &cross_options = {}, attune_call *call = nullptr) const {
        Status status = block::check_tokens(x, dtype_, self_.out(), "x");
        if (!status) return status;
        const TensorView state = memory.like(x, self_.out(), 2);
        if (status = block::check_ends(x, y, dtype_, self_.out(), state); !status) return status;
        if (status = block::check_encoded(encoded, x); !status) return status;
        status = block::sublayer(x, state, norms_[0], norm_first_, memory, call, [&](auto &from, auto &residual, auto &to) {
            return block::attend(self_, from, nullptr, residual, to, self_options, call);
        });
        if (!status) return status;
        status = block::sublayer(state, state, norms_[1], norm_first_, memory, call, [&](auto &from, auto &residual, auto &to) {
            return block::attend(cross_, from, &encoded, residual, to, cross_options, call);
        });
        if (!status) return status;
        return block::sublayer(state, y, norms_[2], norm_first_, memory, call,
                               [&](auto &from, auto &residual, auto &to) { return feed_forward_.run(from, residual, to, memory, call); });
    }

private:
    DecoderBlock(attune_type dtype, MultiHeadAttention self, MultiHeadAttention cross, block::FeedForward feed_forward,
                 std::array<LayerNorm, 3> norms, bool norm_first)
        : dtype_(dtype), self_(std::move(self)), cross_(std::move(cross)), feed_forward_(std::move(feed_forward)), norms_(std::move(norms)),
          norm_first_(norm_first) {}

    attune_type dtype_;
    MultiHeadAttention self_, cross_;
    block::FeedForward feed_forward_;
    std::array<LayerNorm, 3> norms_;
    bool norm_first_;
};

} // namespace attune
