// Llama (Touvron et al., arXiv 2302.13971; Llama 3: arXiv 2407.21783) and Mistral (Jiang et al., arXiv 2310.06825).
#include "error.h"
#include "families.h"
#include "layers.h"

namespace gpt {

namespace {

/** A number that the rotary scaling must have. */
template <typename T> T needed(const nlohmann::json &rope, const char *name) {
    require(rope.contains(name) && !rope[name].is_null(), "config.json has a rotary scaling without \"{}\"", name);
    return value_or(rope, name, T());
}

/** What the configuration says of rotary scaling: an object, empty where there is nothing. */
nlohmann::json rope_of(const nlohmann::json &config) {
    for (const char *place : {"rope_parameters", "rope_scaling"}) {
        const auto found = config.find(place);
        if (found == config.end() || found->is_null()) continue;
        require(found->is_object(), "config.json: \"{}\" is {}; it must be an object", place, found->dump());
        return *found;
    }
    return nlohmann::json::object();
}

/** The rotary position, in Attune's language: "rotary(half, base=500000, scaling=llama3(8, 1, 4, 8192))". */
std::string rotary_text(const nlohmann::json &config) {
    const nlohmann::json rope = rope_of(config);
    const double base = value_or(rope, "rope_theta", value_or(config, "rope_theta", 10000.0));
    const auto type = value_or<std::string>(rope, "rope_type", value_or<std::string>(rope, "type", "default"));
    if (type == "default") return fmt::format("rotary(half, base={})", base);
    require(type == "linear" || type == "llama3", "config.json has the rotary scaling \"{}\"; it must be default, linear or llama3", type);
    const auto factor = needed<double>(rope, "factor");
    if (type == "linear") return fmt::format("rotary(half, base={}, scaling=linear({}))", base, factor);
    const auto low = needed<double>(rope, "low_freq_factor"), high = needed<double>(rope, "high_freq_factor");
    return fmt::format("rotary(half, base={}, scaling=llama3({}, {}, {}, {}))", base, factor, low, high,
                       needed<int64_t>(rope, "original_max_position_embeddings"));
}

DecoderShape shape_of(const Checkpoint &checkpoint, attune_type dtype) {
    const nlohmann::json &config = checkpoint.config();
    DecoderShape shape;
    shape.dtype = dtype, shape.vocabulary = checkpoint.size("vocab_size"), shape.width = checkpoint.size("hidden_size");
    shape.heads = checkpoint.size("num_attention_heads");
    shape.kv_heads = value_or(config, "num_key_value_heads", shape.heads);
    shape.head_dim = value_or(config, "head_dim", shape.width / shape.heads);
    require(shape.head_dim >= 1 && shape.head_dim <= 65536, "config.json: head_dim is {}; it must be 1 to 65536", shape.head_dim);
    require(shape.kv_heads >= 1 && shape.heads % shape.kv_heads == 0,
            "config.json has {} heads, {} heads of keys and a head_dim of {}; the first must be a multiple of the second", shape.heads,
            shape.kv_heads, shape.head_dim);
    shape.longest = checkpoint.size("max_position_embeddings");
    if (const auto window = value_or<int64_t>(config, "sliding_window", 0); window > 0)
        shape.mask = fmt::format("causal & window({}, 0)", window - 1); // its count includes the query itself
    shape.position = rotary_text(config);
    return shape;
}

/** Reads tensors whose names begin with "model.", but in checkpoints of the model without its head. */
class LlamaReader {
public:
    LlamaReader(const Checkpoint &checkpoint, const DecoderShape &shape)
        : checkpoint_(checkpoint), shape_(shape), prefix_(checkpoint.has("embed_tokens.weight") ? "" : "model."),
          inner_(checkpoint.size("intermediate_size")) {}

    DecoderWeights weights() const {
        const std::string tokens = prefix_ + "embed_tokens.weight", head = "lm_head.weight";
        const bool tied = value_or(checkpoint_.config(), "tie_word_embeddings", false);
        std::vector<Block> blocks;
        for (int64_t i = 0; i < checkpoint_.size("num_hidden_layers"); ++i)
            blocks.push_back(block(fmt::format("{}layers.{}.", prefix_, i)));
        const Matrix to_vocabulary = {
            shape_.vocabulary, shape_.width, checkpoint_.read(tied ? tokens : head, {shape_.vocabulary, shape_.width}), {}, false};
        return {read_table(checkpoint_, tokens, shape_.vocabulary, shape_.width, shape_.dtype),
                Buffer(),
                false,
                std::move(blocks),
                norm(prefix_ + "norm"),
                make_linear(shape_.dtype, to_vocabulary)};
    }

private:
    Norm norm(const std::string &name) const {
        return {checkpoint_.read(name + ".weight", {shape_.width}), {}, norm_epsilon(checkpoint_, "rms_norm_eps", 1e-6)};
    }

    Block block(const std::string &name) const {
        const std::string attention = name + "self_attn.", mlp = name + "mlp.";
        const int64_t width = shape_.width, rows = shape_.heads * shape_.head_dim, kv_rows = shape_.kv_heads * shape_.head_dim;
        const Matrix projections = stack({read_matrix(checkpoint_, attention + "q_proj", rows, width),
                                          read_matrix(checkpoint_, attention + "k_proj", kv_rows, width),
                                          read_matrix(checkpoint_, attention + "v_proj", kv_rows, width)});
        const Matrix gate = read_matrix(checkpoint_, mlp + "gate_proj", inner_, width);
        require(gate.bias.empty(), "the checkpoint has {}gate_proj.bias, which isn't known", mlp);
        const auto activation = activation_of(value_or<std::string>(checkpoint_.config(), "hidden_act", "silu"));
        return {norm(name + "input_layernorm"),
                make_linear(shape_.dtype, projections),
                make_linear(shape_.dtype, read_matrix(checkpoint_, attention + "o_proj", width, rows)),
                norm(name + "post_attention_layernorm"),
                make_linear(shape_.dtype, read_matrix(checkpoint_, mlp + "up_proj", inner_, width), activation, &gate),
                make_linear(shape_.dtype, read_matrix(checkpoint_, mlp + "down_proj", width, inner_))};
    }

    const Checkpoint &checkpoint_;
    const DecoderShape &shape_;
    std::string prefix_;
    int64_t inner_;
};

} // namespace

Network load_llama(const Checkpoint &checkpoint, attune_type dtype) {
    const DecoderShape shape = shape_of(checkpoint, dtype);
    return {shape, LlamaReader(checkpoint, shape).weights()};
}

} // namespace gpt
