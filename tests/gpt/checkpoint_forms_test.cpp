// Checkpoints of other forms than the tiny models': shards, biases, scalings, windows, other names, activations and types of elements.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "gpt/decoder.h"
#include "gpt/families.h"
#include "npy.h"
#include "thrown.h"

namespace gpt {
namespace {

class CheckpointForm : public ::testing::TestWithParam<const char *> {};

void expect_logits_of_pytorch(const std::filesystem::path &checkpoint, const std::filesystem::path &folder) {
    const auto ids = read_npy<int32_t>(folder / "ids.npy", "<i4");
    const auto right = read_npy<float>(folder / "logits.npy", "<f4");
    Decoder decoder(load_network(Checkpoint(checkpoint), ATTUNE_F32));
    const auto count = static_cast<int64_t>(ids.size());
    ASSERT_EQ(static_cast<int64_t>(right.size()), count * decoder.shape().vocabulary);
    attune::KvCache cache = decoder.make_cache(count, 1);
    ASSERT_TRUE(cache.add().ok());
    const float *logits = decoder.run(cache, {{0}, ids}, LogitsOf::all_tokens);
    for (size_t i = 0; i < right.size(); ++i)
        ASSERT_LE(std::abs(logits[i] - right[i]), 1e-4) << "logit " << i;
}

TEST_P(CheckpointForm, GivesTheLogitsOfPyTorch) {
    const std::filesystem::path folder = std::filesystem::path(GOLDEN_FOLDER) / "forms" / GetParam();
    expect_logits_of_pytorch(folder, folder);
}

INSTANTIATE_TEST_SUITE_P(Forms, CheckpointForm,
                         ::testing::Values("gpt2_without_prefix", "gpt2_own_head", "llama_shards_biases", "llama_linear_scaling",
                                           "mistral_window"),
                         [](const ::testing::TestParamInfo<const char *> &info) { return std::string(info.param); });

/** Names of tensors lose "model.". */
void write_without_prefix(const std::filesystem::path &from, const std::filesystem::path &to) {
    std::ifstream in(from, std::ios::binary);
    uint64_t length = 0;
    in.read(reinterpret_cast<char *>(&length), sizeof length);
    std::string header(length, ' ');
    in.read(header.data(), static_cast<std::streamsize>(length));
    const std::string prefix = "\"model.";
    for (size_t at = header.find(prefix); at != std::string::npos; at = header.find(prefix, at))
        header.erase(at + 1, prefix.size() - 1);
    length = header.size();
    std::ofstream out(to, std::ios::binary);
    out.write(reinterpret_cast<const char *>(&length), sizeof length);
    out << header << in.rdbuf();
}

TEST(CheckpointForms, LlamasAreReadWithoutPrefix) {
    const std::filesystem::path from = std::filesystem::path(GOLDEN_FOLDER) / "forms" / "mistral_window";
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "attune_gpt_without_prefix";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(from / "config.json", folder / "config.json");
    write_without_prefix(from / "model.safetensors", folder / "model.safetensors");
    ASSERT_FALSE(Checkpoint(folder).has("model.embed_tokens.weight"));
    expect_logits_of_pytorch(folder, from);
    std::filesystem::remove_all(folder);
}

/** The sentence `call` throws for a form's checkpoint with something else in its config.json. */
template <typename Call> std::string refused_by(const Call &call, const char *form, const char *name, const nlohmann::json &value) {
    const std::filesystem::path from = std::filesystem::path(GOLDEN_FOLDER) / "forms" / form;
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "attune_gpt_refused_form";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(from / "model.safetensors", folder / "model.safetensors");
    nlohmann::json config = read_json(from / "config.json");
    config[name] = value;
    std::ofstream(folder / "config.json") << config;
    const std::string sentence = thrown([&] { call(Checkpoint(folder)); });
    std::filesystem::remove_all(folder);
    return sentence;
}

std::string refused(const char *form, const char *name, const nlohmann::json &value) {
    return refused_by([](const Checkpoint &checkpoint) { load_network(checkpoint, ATTUNE_F32); }, form, name, value);
}

TEST(CheckpointForms, EndTokensAreTokens) {
    EXPECT_EQ(refused_by(end_tokens, "mistral_window", "eos_token_id", {1, 4294967297}),
              "config.json: \"eos_token_id\" is [1,4294967297]; it must be one token or several");
    EXPECT_EQ(refused_by(end_tokens, "mistral_window", "eos_token_id", 4294967297),
              "\"eos_token_id\" is 4294967297; it must be a whole number of 32 bits");
}

TEST(CheckpointForms, OthersAreRefusedBySentence) {
    EXPECT_EQ(refused("mistral_window", "model_type", "qwen2"),
              "config.json has the model_type \"qwen2\"; it must be gpt2, llama or mistral");
    EXPECT_EQ(refused("mistral_window", "rope_scaling", {{"rope_type", "yarn"}}),
              "config.json has the rotary scaling \"yarn\"; it must be default, linear or llama3");
    EXPECT_EQ(refused("mistral_window", "rope_scaling", {{"rope_type", "linear"}}), "config.json has a rotary scaling without \"factor\"");
    EXPECT_EQ(refused("mistral_window", "rope_scaling", {{"type", "llama3"}, {"factor", 8}, {"low_freq_factor", 1}}),
              "config.json has a rotary scaling without \"high_freq_factor\"");
    EXPECT_EQ(refused("mistral_window", "rope_scaling", "llama3"), "config.json: \"rope_scaling\" is \"llama3\"; it must be an object");
    EXPECT_EQ(refused("mistral_window", "rms_norm_eps", 1e300),
              "config.json: \"rms_norm_eps\" is 1e+300; it must be 0 or more, and a float");
    EXPECT_EQ(refused("mistral_window", "hidden_act", "tanh"),
              "config.json has the activation \"tanh\"; it must be gelu, gelu_new, gelu_pytorch_tanh, silu, swish or relu");
    EXPECT_EQ(refused("mistral_window", "num_key_value_heads", 3),
              "config.json has 4 heads, 3 heads of keys and a head_dim of 8; the first must be a multiple of the second");
    EXPECT_EQ(refused("mistral_window", "head_dim", int64_t(1) << 62),
              "config.json: head_dim is 4611686018427387904; it must be 1 to 65536");
    EXPECT_EQ(refused("mistral_window", "hidden_size", 40),
              "model.layers.0.self_attn.q_proj.weight has the shape [32, 32]; by config.json it must be [40, 40]");
    EXPECT_EQ(refused("mistral_window", "num_hidden_layers", 3), "the checkpoint has no tensor model.layers.2.self_attn.q_proj.weight");
    EXPECT_EQ(refused("gpt2_own_head", "n_head", 4), "config.json: n_embd is 30; it must be a multiple of n_head, 4");
    EXPECT_EQ(refused("gpt2_own_head", "scale_attn_by_inverse_layer_idx", true),
              "config.json asks for a scale of attention other than 1 / sqrt(dim), which isn't known");
    EXPECT_EQ(refused("gpt2_own_head", "n_layer", "two"), "\"n_layer\" is \"two\"; it must be a whole number of 64 bits");
    EXPECT_EQ(refused("gpt2_without_prefix", "tie_word_embeddings", false), "the checkpoint has no tensor lm_head.weight");
}

} // namespace
} // namespace gpt
