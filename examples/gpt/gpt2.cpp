// GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners").
#include "error.h"
#include "families.h"
#include "layers.h"

namespace gpt {

namespace {

/** Reads tensors whose names begin with "transformer." in some checkpoints. */
class Gpt2Reader {
public:
    Gpt2Reader(const Checkpoint &checkpoint, attune_type dtype)
        : checkpoint_(checkpoint), dtype_(dtype), prefix_(checkpoint.has("transformer.wte.weight") ? "transformer." : ""),
          width_(checkpoint.size("n_embd")), vocabulary_(checkpoint.size("vocab_size")), longest_(checkpoint.size("n_positions")),
          inner_(value_or<int64_t>(checkpoint.config(), "n_inner", 4 * width_)) {}

    DecoderShape shape() const {
        DecoderShape shape;
        shape.dtype = dtype_, shape.vocabulary = vocabulary_, shape.width = width_, shape.longest = longest_;
        shape.heads = shape.kv_heads = checkpoint_.size("n_head");
        require(width_ % shape.heads == 0, "config.json: n_embd is {}; it must be a multiple of n_head, {}", width_, shape.heads);
        shape.head_dim = width_ / shape.heads;
        return shape;
    }

    DecoderWeights weights() const {
        const std::string tokens = prefix_ + "wte.weight", head = "lm_head.weight";
        const bool tied = value_or(checkpoint_.config(), "tie_word_embeddings", true);
        std::vector<Block> blocks;
        for (int64_t i = 0; i < checkpoint_.size("n_layer"); ++i)
            blocks.push_back(block(fmt::format("{}h.{}.", prefix_, i)));
        const Matrix to_vocabulary = {vocabulary_, width_, checkpoint_.read(tied ? tokens : head, {vocabulary_, width_}), {}, false};
        return {read_table(checkpoint_, tokens, vocabulary_, width_, dtype_),
                read_table(checkpoint_, prefix_ + "wpe.weight", longest_, width_, dtype_),
                true,
                std::move(blocks),
                norm(prefix_ + "ln_f"),
                make_linear(dtype_, to_vocabulary)};
    }

private:
    Norm norm(const std::string &name) const {
        return {checkpoint_.read(name + ".weight", {width_}), checkpoint_.read(name + ".bias", {width_}),
                norm_epsilon(checkpoint_, "layer_norm_epsilon", 1e-5)};
    }

    attune::Linear linear(const std::string &name, int64_t out, int64_t in, attune_activation activation = ATTUNE_ACTIVATION_NONE) const {
        return make_linear(dtype_, read_transposed(checkpoint_, name, out, in), activation);
    }

    Block block(const std::string &name) const {
        const auto activation = activation_of(value_or<std::string>(checkpoint_.config(), "activation_function", "gelu_new"));
        return {norm(name + "ln_1"), linear(name + "attn.c_attn", 3 * width_, width_),      linear(name + "attn.c_proj", width_, width_),
                norm(name + "ln_2"), linear(name + "mlp.c_fc", inner_, width_, activation), linear(name + "mlp.c_proj", width_, inner_)};
    }

    const Checkpoint &checkpoint_;
    attune_type dtype_;
    std::string prefix_;
    int64_t width_, vocabulary_, longest_, inner_;
};

} // namespace

Network load_gpt2(const Checkpoint &checkpoint, attune_type dtype) {
    const bool usual = value_or(checkpoint.config(), "scale_attn_weights", true) &&
                       !value_or(checkpoint.config(), "scale_attn_by_inverse_layer_idx", false);
    require(usual, "config.json asks for a scale of attention other than 1 / sqrt(dim), which isn't known");
    const Gpt2Reader reader(checkpoint, dtype);
    return {reader.shape(), reader.weights()};
}

} // namespace gpt
