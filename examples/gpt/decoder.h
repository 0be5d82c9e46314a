// The network that GPT-2 and Llama share: a decoder of pre-norm blocks (Radford et al., "Language Models are Unsupervised Multitask
// Learners", section 2.3; Touvron et al., arXiv 2302.13971, section 2.2). What tells the families apart is data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <attune/attune.hpp>

#include "buffer.h"

namespace gpt {

/** Layer norm; RMS norm where there is no bias. */
struct Norm {
    std::vector<float> weight, bias; // [width]
    float epsilon = 1e-5f;
};

/** x + attention(norm(x)), then x + mlp(norm(x)). */
struct Block {
    Norm before_attention;
    attune::Linear query_key_value; // rows of Q, then K, then V
    attune::Linear output;
    Norm before_mlp;
    attune::Linear up; // with its activation, and its gate if there is one
    attune::Linear down;
};

/** Sizes and texts of a network. */
struct DecoderShape {
    attune_type dtype = ATTUNE_F32; // of activations, weights and the cache: f32 or bf16
    int64_t vocabulary = 0, width = 0, heads = 0, kv_heads = 0, head_dim = 0;
    int64_t longest = 0;         // tokens a sequence may have
    std::string mask = "causal"; // in Attune's languages
    std::string position = "none";
};

struct DecoderWeights {
    Buffer tokens;    // [vocabulary, width]
    Buffer positions; // [longest, width], or not used
    bool has_positions = false;
    std::vector<Block> blocks;
    Norm last;
    attune::Linear head; // to the vocabulary
};

/** Tokens of several sequences, equally many of each, that follow what the cache has of them. */
struct Step {
    std::vector<int64_t> sequences;
    std::vector<int32_t> tokens; // [sequences, T]
};

enum class LogitsOf { last_tokens, all_tokens };

struct Network {
    DecoderShape shape;
    DecoderWeights weights;
};

/** Called with the number of each block and its weights of attention, f32 [sequences, heads, T, capacity of the cache], which last until it
 * returns. */
using OnWeights = std::function<void(size_t block, const attune::TensorView &weights)>;

class Decoder {
public:
    /** `threads` 0: every CPU. */
    explicit Decoder(Network network, int32_t threads = 0);

    const DecoderShape &shape() const { return shape_; }

    /** A cache for sequences of up to `longest` tokens, and of `pages` pages of page_tokens tokens. */
    attune::KvCache make_cache(int64_t longest, int64_t pages) const;
    static constexpr int64_t page_tokens = 64;

    /** Runs the network on the step's tokens and adds them to the cache. Returns logits f32 [sequences, vocabulary] of each sequence's last
     * token, or [sequences, T, vocabulary]; they last until the next step. Throws an Error, with the cache as it was, where a call fails.
     */
    const float *run(attune::KvCache &cache, const Step &step, LogitsOf which = LogitsOf::last_tokens);

    /** Has every later run show its weights of attention, which costs time; an empty function ends it. */
    void observe(OnWeights on_weights) { on_weights_ = std::move(on_weights); }

private:
    attune::TensorView embed(const attune::KvCache &cache, const Step &step, int64_t tokens);
    void attend(size_t number, const attune::TensorView &x, const attune_cache &cache);
    void transform(const Block &block, const attune::TensorView &x);
    const float *logits(const attune::TensorView &x, LogitsOf which);
    attune::TensorView normalised(const Norm &norm, const attune::TensorView &x);

    DecoderShape shape_;
    DecoderWeights weights_;
    attune::AttentionPlan plan_;
    attune::Call call_;
    Buffer x_, normalised_, projected_, attended_, inner_, logits_;
    Buffer observed_{ATTUNE_F32};
    OnWeights on_weights_;
    std::vector<float> wide_logits_; // of bf16
};

} // namespace gpt
