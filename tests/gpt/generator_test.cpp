// Generating: the likeliest text as PyTorch continues it, seeds, several texts, the cache of a prompt, and the program's options.
#include <gtest/gtest.h>

#include <filesystem>

#include "gpt/arguments.h"
#include "gpt/families.h"
#include "gpt/generator.h"
#include "npy.h"
#include "thrown.h"

namespace gpt {
namespace {

class TinyText : public ::testing::TestWithParam<const char *> {
protected:
    using Texts = std::vector<std::vector<int32_t>>;

    static std::vector<int32_t> golden(const char *what) {
        return read_npy<int32_t>(std::string(GOLDEN_FOLDER) + "/" + GetParam() + "_" + what + ".npy", "<i4");
    }
    static GenerationOptions drawing(int64_t tokens, int64_t texts) {
        GenerationOptions options;
        options.tokens = tokens, options.texts = texts, options.sampling = {1.5, 0, 1, 42};
        return options;
    }
    static Texts generate(Generator &generator, const std::vector<int32_t> &prompt, const GenerationOptions &options) {
        Texts texts(static_cast<size_t>(options.texts));
        generator.generate(prompt, options, [&](int64_t text, int32_t token) { texts[static_cast<size_t>(text)].push_back(token); });
        return texts;
    }

    const Checkpoint checkpoint{std::filesystem::path(MODELS_FOLDER) / (std::string(GetParam()) + "-tiny")};
    Decoder decoder{load_network(checkpoint, ATTUNE_F32)};
    const std::vector<int32_t> prompt = golden("ids");
};

TEST_P(TinyText, TheLikeliestTokensAreThoseOfPyTorch) {
    Generator generator(decoder, 100, 2);
    GenerationOptions options = drawing(40, 2);
    options.sampling.temperature = 0;
    EXPECT_EQ(generate(generator, prompt, options), Texts(2, golden("likeliest")));
}

TEST_P(TinyText, SeedsDecideAndTextsAreApart) {
    Generator generator(decoder, 100, 4);
    const Texts three = generate(generator, prompt, drawing(30, 3));
    EXPECT_EQ(generate(generator, prompt, drawing(30, 3)), three);
    EXPECT_NE(three[0], three[1]);
    EXPECT_EQ(generate(generator, prompt, drawing(30, 1))[0], three[0]); // whatever else is in the batch
    GenerationOptions other = drawing(30, 1);
    other.sampling.seed = 43;
    EXPECT_NE(generate(generator, prompt, other)[0], three[0]);
}

TEST_P(TinyText, APromptIsComputedFromWhereItDiffers) {
    Generator reusing(decoder, 100, 1), fresh(decoder, 100, 1);
    const auto count = static_cast<int64_t>(prompt.size());
    std::vector<int32_t> longer = prompt, other = prompt;
    longer.insert(longer.end(), {11, 12, 13}), other[5] = 17;
    generate(reusing, prompt, drawing(5, 1));
    EXPECT_EQ(reusing.reused(), 0);
    const struct {
        std::vector<int32_t> prompt;
        int64_t reused;
    } next[] = {{prompt, count - 1}, {longer, count}, {other, 5}, {prompt, 5}, {{prompt[0]}, 0}};
    for (const auto &[tokens, reused] : next) {
        // Sums over keys may run in another order where a prompt is computed in parts: texts are equal, which tells tokens of other places.
        EXPECT_EQ(generate(reusing, tokens, drawing(12, 1)), generate(fresh, tokens, drawing(12, 1)));
        EXPECT_EQ(reusing.reused(), reused);
    }
}

TEST_P(TinyText, AnEndTokenEndsItsTextAlone) {
    Generator generator(decoder, 100, 3);
    GenerationOptions options = drawing(20, 3);
    const Texts whole = generate(generator, prompt, options);
    options.end_tokens = {whole[1][4]};
    const Texts ended = generate(generator, prompt, options);
    ASSERT_LE(ended[1].size(), 4u);
    for (size_t text = 0; text < 3; ++text)
        EXPECT_EQ(ended[text], std::vector<int32_t>(whole[text].begin(), whole[text].begin() + static_cast<int64_t>(ended[text].size())));
}

TEST_P(TinyText, AnErrorLeavesTheGeneratorUsable) {
    Generator generator(decoder, 60, 2);
    EXPECT_EQ(thrown([&] { generate(generator, {}, drawing(5, 1)); }), "the prompt has 0 tokens; it must have 1 or more");
    EXPECT_NE(thrown([&] { generate(generator, prompt, drawing(60, 2)); }).find("room for"), std::string::npos);
    Generator fresh(decoder, 60, 2);
    EXPECT_EQ(generate(generator, prompt, drawing(10, 2)), generate(fresh, prompt, drawing(10, 2)));
}

INSTANTIATE_TEST_SUITE_P(Families, TinyText, ::testing::Values("gpt2", "llama"),
                         [](const ::testing::TestParamInfo<const char *> &info) { return std::string(info.param); });

Arguments parse(std::vector<const char *> words) {
    words.insert(words.begin(), "gpt");
    return parse_arguments(static_cast<int>(words.size()), words.data());
}

TEST(GptArguments, AreRead) {
    const Arguments a =
        parse({"--prompt", "one",     "F",    "--prompt", "two", "--tokens", "7",    "--texts",   "2", "--temperature", "0.5", "--top-k",
               "3",        "--top-p", "0.25", "--seed",   "9",   "--dtype",  "bf16", "--threads", "1"});
    EXPECT_EQ(a.folder, "F");
    EXPECT_EQ(a.prompts, (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(a.generation.tokens, 7);
    EXPECT_EQ(a.generation.texts, 2);
    EXPECT_EQ(a.generation.sampling.temperature, 0.5);
    EXPECT_EQ(a.generation.sampling.top_k, 3);
    EXPECT_EQ(a.generation.sampling.top_p, 0.25);
    EXPECT_EQ(a.generation.sampling.seed, 9u);
    EXPECT_EQ(a.dtype, ATTUNE_BF16);
    EXPECT_EQ(a.threads, 1);
    EXPECT_TRUE(parse({"--help"}).help);
}

TEST(GptArguments, AreRefusedBySentence) {
    const auto sentence = [](const std::vector<const char *> &words) { return thrown([&] { parse(words); }); };
    EXPECT_EQ(sentence({}), "a model's folder is needed; gpt --help says more");
    EXPECT_EQ(sentence({"F", "G"}), "\"G\" is one folder too many; prompts come after --prompt");
    EXPECT_EQ(sentence({"F", "--tokens"}), "--tokens needs a value");
    EXPECT_EQ(sentence({"F", "--tokens", "5x"}), "--tokens is \"5x\"; it must be a whole number, 0 to 2147483647");
    EXPECT_EQ(sentence({"F", "--texts", "0"}), "--texts is \"0\"; it must be a whole number, 1 to 1024");
    EXPECT_EQ(sentence({"F", "--temperature", ""}), "--temperature is \"\"; it must be a number");
    EXPECT_EQ(sentence({"F", "--dtype", "f64"}), "--dtype is \"f64\"; it must be f32 or bf16");
    EXPECT_EQ(sentence({"F", "--depth", "1"}), "--depth is no option; gpt --help lists them");
}

} // namespace
} // namespace gpt
