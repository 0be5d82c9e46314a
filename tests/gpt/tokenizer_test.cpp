// Tokenizers against the tokens that the families' own library gives: golden/tokenizer_cases.json.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "gpt/files.h"
#include "gpt/tokenizer.h"
#include "thrown.h"

namespace gpt {
namespace {

class GoldenTokens : public ::testing::TestWithParam<const char *> {
protected:
    static std::filesystem::path folder() {
        const std::string name = GetParam();
        const bool is_model = name == "gpt2" || name == "llama";
        return is_model ? std::filesystem::path(MODELS_FOLDER) / (name + "-tiny") : std::filesystem::path(GOLDEN_FOLDER) / name;
    }
};

TEST_P(GoldenTokens, AreWhatTheLibraryGives) {
    const Tokenizer tokenizer = Tokenizer::load(folder());
    const nlohmann::json cases = read_json(std::filesystem::path(GOLDEN_FOLDER) / "tokenizer_cases.json")[GetParam()];
    ASSERT_GT(cases.size(), 20u);
    for (const nlohmann::json &expected : cases) {
        const auto text = expected["text"].get<std::string>();
        const std::vector<int32_t> tokens = tokenizer.encode(text);
        EXPECT_EQ(tokens, expected["ids"].get<std::vector<int32_t>>()) << text;
        EXPECT_EQ(tokenizer.decode(tokens), expected["decoded"].get<std::string>()) << text;
    }
}
INSTANTIATE_TEST_SUITE_P(Tokenizers, GoldenTokens, ::testing::Values("gpt2", "llama", "llama3", "metaspace"),
                         [](const ::testing::TestParamInfo<const char *> &info) { return std::string(info.param); });

/** As it was published with GPT-2: beside the same vocabulary and merges, and with a model that names no type. */
TEST(Tokenizer, Gpt2sOwnTokenizerJsonNamesNoTypeOfModel) {
    const std::filesystem::path model = std::filesystem::path(MODELS_FOLDER) / "gpt2-tiny";
    nlohmann::json merges = nlohmann::json::array();
    std::istringstream lines(read_text(model / "merges.txt"));
    for (std::string line; std::getline(lines, line);)
        if (line.rfind("#version", 0) != 0) merges.push_back(line);
    const nlohmann::json file = {{"added_tokens", {{{"id", 0}, {"content", "<|endoftext|>"}}}},
                                 {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}}},
                                 {"model", {{"unk_token", nullptr}, {"vocab", read_json(model / "vocab.json")}, {"merges", merges}}}};
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "attune_published_tokenizer";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "tokenizer.json") << file;
    const Tokenizer tokenizer = Tokenizer::load(folder);
    std::filesystem::remove_all(folder);
    for (const nlohmann::json &expected : read_json(std::filesystem::path(GOLDEN_FOLDER) / "tokenizer_cases.json")["gpt2"])
        EXPECT_EQ(tokenizer.encode(expected["text"].get<std::string>()), expected["ids"].get<std::vector<int32_t>>()) << expected["text"];
}

TEST(Tokenizer, BytesThatAreNoUtf8ComeBack) {
    for (const char *name : {"gpt2-tiny", "llama-tiny"}) {
        const Tokenizer tokenizer = Tokenizer::load(std::filesystem::path(MODELS_FOLDER) / name);
        const std::string bytes = "a\xff\x80 \xe2\x96z";
        EXPECT_EQ(tokenizer.decode(tokenizer.encode(bytes)), bytes) << name;
    }
}

/** llama-tiny's tokenizer.json with one part changed. */
Tokenizer changed(const std::function<void(nlohmann::json &)> &change) {
    nlohmann::json file = read_json(std::filesystem::path(MODELS_FOLDER) / "llama-tiny" / "tokenizer.json");
    change(file);
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "attune_changed_tokenizer";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "tokenizer.json") << file;
    Tokenizer tokenizer = Tokenizer::load(folder);
    std::filesystem::remove_all(folder);
    return tokenizer;
}

TEST(Tokenizer, AddedTokensThatAreNotSpecialDecodeToWhatTheyAre) {
    for (const bool special : {false, true}) {
        const Tokenizer tokenizer = changed([&](nlohmann::json &file) {
            file["added_tokens"].push_back({{"id", 5000}, {"content", "attune"}, {"special", special}});
        });
        const std::vector<int32_t> tokens = tokenizer.encode("we attune it");
        EXPECT_NE(std::find(tokens.begin(), tokens.end(), 5000), tokens.end());
        EXPECT_EQ(tokenizer.decode(tokens).find("attune") != std::string::npos, !special);
    }
}

TEST(Tokenizer, BytesStandInForCharactersOnlyWhereTheModelSaysSo) {
    const std::string rare = "\u4e16";
    const auto tokens_of = [&](bool falls_back) {
        return changed([&](nlohmann::json &file) { file["model"]["byte_fallback"] = falls_back, file["model"]["fuse_unk"] = true; })
            .encode(rare);
    };
    EXPECT_EQ(tokens_of(true).size(), tokens_of(false).size() + 2); // three bytes, or one unknown character
}

TEST(Tokenizer, PiecesOfNoTokenAreEmpty) {
    const Tokenizer tokenizer = Tokenizer::load(std::filesystem::path(MODELS_FOLDER) / "gpt2-tiny");
    for (int32_t token : {-1, 0, tokenizer.size(), INT32_MAX}) // 0 is <|endoftext|>
        EXPECT_EQ(tokenizer.piece(token), "");
    EXPECT_EQ(tokenizer.piece(tokenizer.encode("a")[0]), "a");
}

TEST(Tokenizer, TimeGrowsWithTextAsItShould) {
    const Tokenizer tokenizer = Tokenizer::load(std::filesystem::path(MODELS_FOLDER) / "llama-tiny"); // whose texts are one word
    const auto start = std::chrono::steady_clock::now();
    EXPECT_GT(tokenizer.encode(std::string(300000, 'a')).size(), 1000u);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)); // squared, it would take minutes
}

TEST(Tokenizer, DamagedFilesGiveATokenizerOrASentence) {
    const std::string whole = read_text(std::filesystem::path(GOLDEN_FOLDER) / "llama3" / "tokenizer.json");
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "attune_damaged_tokenizer";
    std::filesystem::create_directories(folder);
    constexpr uint32_t seed = 8;
    std::mt19937 random(seed);
    int read = 0, refused = 0;
    for (int round = 0; round < 400; ++round) {
        std::string damaged = whole;
        static const std::string likely = "0123456789-[]{},:\"nul ";
        for (uint32_t changes = 1 + random() % 4; changes > 0; --changes)
            damaged[random() % damaged.size()] = likely[random() % likely.size()];
        std::ofstream(folder / "tokenizer.json") << damaged;
        SCOPED_TRACE(round);
        const std::string sentence = thrown([&] { Tokenizer::load(folder).encode("attention is  all 12345\n you need"); });
        ++(sentence == "nothing was thrown" ? read : refused);
    }
    std::filesystem::remove_all(folder);
    EXPECT_GT(read, 20);
    EXPECT_GT(refused, 100);
}

struct BadTokenizer {
    const char *name;
    const char *json;
    const char *sentence;
};
void PrintTo(const BadTokenizer &bad, std::ostream *stream) { *stream << bad.name; }

class BadTokenizers : public ::testing::TestWithParam<BadTokenizer> {};

TEST_P(BadTokenizers, AreRefusedBySentence) {
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / (std::string("attune_tokenizer_") + GetParam().name);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "tokenizer.json") << GetParam().json;
    const std::string sentence = thrown([&] { Tokenizer::load(folder); });
    std::filesystem::remove_all(folder);
    EXPECT_NE(sentence.find(GetParam().sentence), std::string::npos) << sentence;
}

const BadTokenizer bad_tokenizers[] = {
    {"NoJson", "{", "must hold one JSON object"},
    {"NoModel", "{}", "has no \"model\""},
    {"Unigram", R"({"model": {"type": "Unigram"}})", "a model of type \"Unigram\"; it must be BPE"},
    {"NoMerges", R"({"model": {"type": "BPE", "vocab": {}}})", "has no vocab, or no merges"},
    {"NegativeToken", R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})", "token \"a\" has the number -1"},
    {"HugeToken", R"({"model": {"type": "BPE", "vocab": {"a": 99999999999}, "merges": []}})", "token \"a\" has the number 99999999999"},
    {"VocabularyIsAnArray", R"({"model": {"type": "BPE", "vocab": [], "merges": []}})", "vocabulary isn't a JSON object"},
    {"MergeOfNoToken", R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})", "a merge names \"b\", which is no token"},
    {"MergeOfThree", R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a a a"]}})", "the merge \"a a a\" must be two tokens"},
    {"MergeOfNumbers", R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [[1, 2]]}})", "a merge is [1,2]; it must be two tokens"},
    {"ByteWithoutToken", R"({"pre_tokenizer": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {}, "merges": []}})",
     "no token of byte 0"},
    {"UnknownNormalizer", R"({"normalizer": {"type": "NFC"}, "model": {"type": "BPE", "vocab": {}, "merges": []}})",
     "has the normalizer {\"type\":\"NFC\"}, which isn't known"},
    {"UnknownPattern",
     R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "x"}}, "model": {"type": "BPE", "vocab": {}, "merges": []}})",
     "which isn't known"},
    {"NumberPast32Bits", R"({"added_tokens": [{"id": 4294967301, "content": "a"}], "model": {"type": "BPE", "vocab": {}, "merges": []}})",
     "\"id\" is 4294967301; it must be a whole number of 32 bits"},
    {"SpacesStay", R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})",
     "neither a normalizer nor a pre_tokenizer that replaces"},
    {"Dropout", R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}})", "a model with dropout"},
    {"UnknownsApart", R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": "a"}})", "\"fuse_unk\" is false"},
    {"StrippedToken",
     R"({"added_tokens": [{"id": 0, "content": "a", "lstrip": true}], "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})",
     "the added token a with \"lstrip\""},
    {"TokenAfterTexts",
     R"({"added_tokens": [{"id": 0, "content": "a"}], "post_processor": {"type": "TemplateProcessing",
         "single": [{"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "a"}}]}, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})",
     "puts \"a\" after texts"},
    {"MergedPattern",
     R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "x"}, "behavior": "Removed"}, "model": {"type": "BPE", "vocab": {}, "merges": []}})",
     "which isn't known"},
    {"WrongTypeOfPart", R"({"model": {"type": "BPE", "vocab": {}, "merges": [], "ignore_merges": 3}})", "\"ignore_merges\" is 3"},
};
INSTANTIATE_TEST_SUITE_P(Files, BadTokenizers, ::testing::ValuesIn(bad_tokenizers),
                         [](const ::testing::TestParamInfo<BadTokenizer> &info) { return info.param.name; });

} // namespace
} // namespace gpt
