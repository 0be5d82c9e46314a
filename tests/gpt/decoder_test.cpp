// The two tiny models against PyTorch's logits, and against themselves: in one step or many, alone or in a batch, forked or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "gpt/decoder.h"
#include "gpt/families.h"
#include "npy.h"
#include "thrown.h"

namespace gpt {
namespace {

class TinyModel : public ::testing::TestWithParam<const char *> {
protected:
    static Decoder load(attune_type dtype = ATTUNE_F32, int32_t threads = 0) {
        const Checkpoint checkpoint(std::filesystem::path(MODELS_FOLDER) / (std::string(GetParam()) + "-tiny"));
        return Decoder(load_network(checkpoint, dtype), threads);
    }
    static std::string golden(const char *what) { return std::string(GOLDEN_FOLDER) + "/" + GetParam() + "_" + what + ".npy"; }

    const std::vector<int32_t> ids = read_npy<int32_t>(golden("ids"), "<i4");
    const std::vector<float> right = read_npy<float>(golden("logits"), "<f4"); // [ids, vocabulary]
    const int64_t count = static_cast<int64_t>(ids.size());
    const int64_t vocabulary = static_cast<int64_t>(right.size()) / count;
};

std::vector<float> copy(const float *logits, int64_t size) { return {logits, logits + size}; }

/** The largest difference; infinity where one is NaN. */
double difference(const std::vector<float> &a, const std::vector<float> &b) {
    double largest = a.size() == b.size() ? 0 : HUGE_VAL;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        const double apart = std::abs(double(a[i]) - double(b[i]));
        largest = std::isnan(apart) ? HUGE_VAL : std::max(largest, apart);
    }
    return largest;
}

TEST_P(TinyModel, LogitsAreThoseOfPyTorch) {
    Decoder decoder = load();
    ASSERT_EQ(decoder.shape().vocabulary, vocabulary);
    attune::KvCache cache = decoder.make_cache(64, 1);
    ASSERT_TRUE(cache.add().ok());
    const float *logits = decoder.run(cache, {{0}, ids}, LogitsOf::all_tokens);
    EXPECT_LE(difference(copy(logits, count * vocabulary), right), 1e-4);
}

TEST_P(TinyModel, TokenByTokenTheyAreTheSame) {
    Decoder decoder = load();
    attune::KvCache cache = decoder.make_cache(64, 1);
    ASSERT_TRUE(cache.add().ok());
    std::vector<float> all;
    for (int32_t id : ids) {
        const float *logits = decoder.run(cache, {{0}, {id}});
        all.insert(all.end(), logits, logits + vocabulary);
    }
    EXPECT_LE(difference(all, right), 1e-4);
}

TEST_P(TinyModel, InBf16TheyAreNear) {
    Decoder decoder = load(ATTUNE_BF16);
    attune::KvCache cache = decoder.make_cache(64, 1);
    ASSERT_TRUE(cache.add().ok());
    const std::vector<float> logits = copy(decoder.run(cache, {{0}, ids}, LogitsOf::all_tokens), count * vocabulary);
    double squares = 0, right_squares = 0;
    for (size_t i = 0; i < right.size(); ++i)
        squares += std::pow(double(logits[i]) - double(right[i]), 2), right_squares += std::pow(double(right[i]), 2);
    EXPECT_LE(std::sqrt(squares / right_squares), 0.03);
}

TEST_P(TinyModel, ForksGoOnAloneOrTogetherWithTheSameBits) {
    Decoder decoder = load();
    attune::KvCache cache = decoder.make_cache(64, 6);
    ASSERT_TRUE(cache.add().ok());
    decoder.run(cache, {{0}, ids});
    ASSERT_TRUE(cache.fork(0, count).ok() && cache.fork(0, count - 3).ok()); // 1 and 2
    const std::vector<float> alone = copy(decoder.run(cache, {{1}, {7}}), vocabulary);
    const std::vector<float> shorter = copy(decoder.run(cache, {{2}, {9}}), vocabulary);
    EXPECT_NE(alone, shorter);
    ASSERT_TRUE(cache.truncate(1, count).ok() && cache.truncate(2, count - 3).ok());
    const std::vector<float> both = copy(decoder.run(cache, {{2, 1}, {9, 7}}), 2 * vocabulary);
    EXPECT_EQ(std::vector<float>(both.begin(), both.begin() + vocabulary), shorter);
    EXPECT_EQ(std::vector<float>(both.begin() + vocabulary, both.end()), alone);
    const std::vector<float> prompt = copy(decoder.run(cache, {{0}, {7}}), vocabulary); // the prompt itself is as it was
    EXPECT_EQ(prompt, alone);
}

TEST_P(TinyModel, ABatchOfPromptsIsEachPrompt) {
    Decoder decoder = load();
    attune::KvCache cache = decoder.make_cache(64, 6);
    ASSERT_TRUE(cache.add().ok() && cache.add().ok() && cache.add().ok());
    std::vector<int32_t> reversed(ids.rbegin(), ids.rend()), batch = ids;
    batch.insert(batch.end(), reversed.begin(), reversed.end());
    const std::vector<float> both = copy(decoder.run(cache, {{0, 1}, batch}), 2 * vocabulary);
    const std::vector<float> second = copy(decoder.run(cache, {{2}, reversed}), vocabulary);
    EXPECT_EQ(std::vector<float>(both.begin() + vocabulary, both.end()), second);
    const std::vector<float> last(right.end() - vocabulary, right.end());
    EXPECT_LE(difference(std::vector<float>(both.begin(), both.begin() + vocabulary), last), 1e-4);
}

TEST_P(TinyModel, ThreadsDontChangeBits) {
    std::vector<float> first;
    for (int32_t threads : {1, 2, 3}) {
        Decoder decoder = load(ATTUNE_F32, threads);
        attune::KvCache cache = decoder.make_cache(64, 1);
        ASSERT_TRUE(cache.add().ok());
        const std::vector<float> logits = copy(decoder.run(cache, {{0}, ids}, LogitsOf::all_tokens), count * vocabulary);
        if (first.empty()) first = logits;
        EXPECT_EQ(logits, first) << threads << " threads";
    }
}

TEST_P(TinyModel, RefusesBySentence) {
    Decoder decoder = load();
    EXPECT_EQ(thrown([&] { decoder.make_cache(1 << 20, 1); }),
              fmt::format("a sequence of 1048576 tokens is asked for; the model takes 1 to {}", decoder.shape().longest));
    attune::KvCache cache = decoder.make_cache(8, 1);
    ASSERT_TRUE(cache.add().ok());
    EXPECT_EQ(thrown([&] { decoder.run(cache, {{0}, {}}); }), "a step has 0 tokens of 1 sequences; it must have 1 or more of each");
    EXPECT_EQ(thrown([&] {
                  decoder.run(cache, {{0}, ids});
              }),
              fmt::format("new_tokens is {}; sequence 0 has 0 tokens, and room for 8 more", count));
    EXPECT_NE(thrown([&] { decoder.run(cache, {{0}, {static_cast<int32_t>(vocabulary)}}); }), "nothing was thrown");
    EXPECT_EQ(cache.length(0), 0);
}

INSTANTIATE_TEST_SUITE_P(Families, TinyModel, ::testing::Values("gpt2", "llama"),
                         [](const ::testing::TestParamInfo<const char *> &info) { return std::string(info.param); });

} // namespace
} // namespace gpt
