// A cache of many sequences: what each holds, whatever is forked from it, cut off it or written to it, and what the cache refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "attune/attune.hpp"

namespace attune::kv_cache_test {
namespace {

KvCacheDesc small() {
    KvCacheDesc desc;
    desc.layers = 2, desc.kv_heads = 3, desc.head_dim = 4, desc.value_dim = 5, desc.capacity = 20, desc.pages = 16, desc.page_tokens = 4;
    return desc;
}

KvCache made(const KvCacheDesc &desc) {
    Result<KvCache> cache = KvCache::create(desc);
    EXPECT_TRUE(cache.ok()) << cache.status().message;
    return std::move(*cache);
}

/** Element (token, head, channel) of an item, by the block table. */
float *element(const attune_tensor &pool, const attune_cache &view, int64_t item, int64_t head, int64_t token, int64_t channel) {
    const int64_t page_tokens = pool.extent[2], columns = view.block_table->extent[1];
    const int32_t page = static_cast<int32_t *>(view.block_table->data)[item * columns + token / page_tokens];
    return static_cast<float *>(pool.data) + page * pool.stride[0] + head * pool.stride[1] + token % page_tokens * pool.stride[2] + channel;
}

/** What a token of which one number is known holds in a layer's keys or values. */
float stored(int number, int32_t layer, int64_t head, int64_t channel, bool value) {
    return static_cast<float>(number * 1000 + layer * 400 + int(value) * 200 + head * 20 + channel);
}

/** Visits all that is kept of an item's token: visit(where it is, what it must be). */
template <typename Visit> void visit_token(const KvCache &cache, int64_t item, int64_t token, int number, const Visit &visit) {
    for (int32_t layer = 0; layer < 2; ++layer) {
        const Result<attune_cache> view = cache.layer(layer);
        ASSERT_TRUE(view.ok()) << view.status().message;
        for (bool value : {false, true}) {
            const attune_tensor &pool = value ? view->v : view->k;
            for (int64_t head = 0; head < pool.extent[1]; ++head)
                for (int64_t channel = 0; channel < pool.extent[3]; ++channel)
                    visit(*element(pool, *view, item, head, token, channel), stored(number, layer, head, channel, value));
        }
    }
}

/** A cache beside a plain list of every sequence's tokens, each a number of its own. */
class KvCacheModel : public ::testing::Test {
protected:
    void append(const std::vector<int64_t> &sequences, int64_t new_tokens) {
        const Status begun = cache.begin(sequences, new_tokens);
        ASSERT_TRUE(begun.ok()) << begun.message;
        for (size_t item = 0; item < sequences.size(); ++item) {
            std::vector<int> &tokens = record[sequences[item]];
            for (int64_t i = 0; i < new_tokens; ++i) {
                visit_token(cache, static_cast<int64_t>(item), static_cast<int64_t>(tokens.size()), next,
                            [](float &kept, float right) { kept = right; });
                tokens.push_back(next++);
            }
        }
        ASSERT_TRUE(cache.end().ok());
    }
    void fork(int64_t sequence, int64_t tokens) {
        const Result<int64_t> forked = cache.fork(sequence, tokens);
        ASSERT_TRUE(forked.ok()) << forked.status().message;
        ASSERT_EQ(record.count(*forked), 0u);
        const std::vector<int> &source = record[sequence];
        record[*forked] = std::vector<int>(source.begin(), source.begin() + tokens);
    }
    void truncate(int64_t sequence, int64_t tokens) {
        ASSERT_TRUE(cache.truncate(sequence, tokens).ok());
        record[sequence].resize(static_cast<size_t>(tokens));
    }
    void remove(int64_t sequence) {
        ASSERT_TRUE(cache.remove(sequence).ok());
        record.erase(sequence);
    }
    int64_t add() {
        const int64_t sequence = *cache.add();
        record[sequence] = {};
        return sequence;
    }
    void expect_the_record() {
        for (const auto &[sequence, tokens] : record) {
            ASSERT_EQ(cache.length(sequence), static_cast<int64_t>(tokens.size()));
            ASSERT_TRUE(cache.begin({sequence}, 0).ok());
            for (size_t token = 0; token < tokens.size(); ++token)
                visit_token(cache, 0, static_cast<int64_t>(token), tokens[token], [](float kept, float right) { ASSERT_EQ(kept, right); });
        }
    }

    KvCache cache = made(small());
    std::map<int64_t, std::vector<int>> record;
    int next = 1;
};

TEST_F(KvCacheModel, AForkSharesPagesUntilOneOfBothWrites) {
    const int64_t prompt = add();
    append({prompt}, 10);
    EXPECT_EQ(cache.free_pages(), 16 - 3);
    fork(prompt, 10), fork(prompt, 9), fork(prompt, 4);
    EXPECT_EQ(cache.free_pages(), 16 - 3);
    append({1, 2, 3}, 1); // the first two write to the page that holds tokens 8 and 9, the third begins a page
    EXPECT_EQ(cache.free_pages(), 16 - 3 - 3);
    append({prompt}, 1); // which no other reads any longer
    EXPECT_EQ(cache.free_pages(), 16 - 3 - 3);
    expect_the_record();
    for (int64_t sequence : {0, 1, 2, 3})
        remove(sequence);
    EXPECT_EQ(cache.free_pages(), 16);
}

TEST_F(KvCacheModel, TheLastReaderOfAPageInABatchKeepsIt) {
    const int64_t prompt = add();
    append({prompt}, 18);
    for (int i = 0; i < 11; ++i)
        fork(prompt, 18);
    EXPECT_EQ(cache.free_pages(), 11);
    append({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 2); // 11 copies, and there are 11 pages
    EXPECT_EQ(cache.free_pages(), 0);
    expect_the_record();
}

TEST_F(KvCacheModel, WhatIsCutOffIsForgotten) {
    append({add()}, 11);
    fork(0, 11);
    truncate(0, 5);
    EXPECT_EQ(cache.free_pages(), 16 - 3);
    append({0}, 2); // the fork reads the page
    expect_the_record();
    truncate(1, 0), truncate(0, 0);
    EXPECT_EQ(cache.free_pages(), 16);
}

TEST_F(KvCacheModel, ABatchWithoutAnEndLeavesNothing) {
    append({add()}, 6);
    fork(0, 6);
    ASSERT_TRUE(cache.begin({0, 1}, 7).ok());
    EXPECT_LT(cache.free_pages(), 12);
    ASSERT_TRUE(cache.begin({0}, 0).ok());
    EXPECT_EQ(cache.length(0), 6);
    EXPECT_GE(cache.free_pages(), 13); // one page may have been copied
    expect_the_record();
    ASSERT_TRUE(cache.begin({0}, 7).ok());
    truncate(1, 2);
    EXPECT_FALSE(cache.end().ok());
    EXPECT_FALSE(cache.layer(0).ok());
    expect_the_record();
}

TEST_F(KvCacheModel, ManyRandomSteps) {
    constexpr uint32_t seed = 11;
    std::mt19937 random(seed);
    SCOPED_TRACE("seed 11");
    const auto some_sequence = [&] { return std::next(record.begin(), random() % record.size())->first; };
    for (int step = 0; step < 1500; ++step) {
        if (record.empty()) add();
        const int64_t sequence = some_sequence(), length = cache.length(sequence);
        switch (random() % 6) {
        case 0:
            add();
            break;
        case 1:
            fork(sequence, static_cast<int64_t>(random()) % (length + 1));
            break;
        case 2:
            truncate(sequence, static_cast<int64_t>(random()) % (length + 1));
            break;
        case 3:
            remove(sequence);
            break;
        default: {
            std::vector<int64_t> batch;
            for (const auto &[number, tokens] : record)
                if (random() % 2) batch.push_back(number);
            const auto new_tokens = static_cast<int64_t>(random() % 6);
            const Status status = cache.begin(batch, new_tokens); // pages or capacity may run out
            if (status.ok()) append(batch, new_tokens);
        }
        }
        if (HasFatalFailure()) return;
        expect_the_record();
    }
    while (!record.empty())
        remove(record.begin()->first);
    EXPECT_EQ(cache.free_pages(), 16);
}

TEST(KvCache, ViewsAreWhatAttentionTakes) {
    KvCache cache = made(small());
    ASSERT_TRUE(cache.add().ok() && cache.add().ok());
    ASSERT_TRUE(cache.begin({1}, 3).ok() && cache.end().ok());
    ASSERT_TRUE(cache.begin({0, 1}, 2).ok());
    const Result<attune_cache> view = cache.layer(1);
    ASSERT_TRUE(view.ok());
    const auto extents = [](const attune_tensor &t) { return std::vector<int64_t>(t.extent, t.extent + t.rank); };
    EXPECT_EQ(extents(view->k), (std::vector<int64_t>{16, 3, 4, 4}));
    EXPECT_EQ(extents(view->v), (std::vector<int64_t>{16, 3, 4, 5}));
    EXPECT_EQ(extents(*view->block_table), (std::vector<int64_t>{2, 5}));
    EXPECT_EQ(static_cast<int32_t *>(view->lengths.data)[0], 0);
    EXPECT_EQ(static_cast<int32_t *>(view->lengths.data)[1], 3); // before the new tokens
    EXPECT_EQ(view->k_scale, nullptr);
    EXPECT_EQ(view->ring, 0);
}

TEST(KvCache, Int8HasScales) {
    KvCacheDesc desc = small();
    desc.dtype = ATTUNE_I8, desc.page_tokens = 0;
    KvCache cache = made(desc);
    ASSERT_TRUE(cache.add().ok() && cache.begin({0}, 1).ok());
    const Result<attune_cache> view = cache.layer(0);
    ASSERT_TRUE(view.ok() && view->k_scale && view->v_scale);
    EXPECT_EQ(view->k.type, ATTUNE_I8);
    EXPECT_EQ(view->k_scale->rank, 3);
    EXPECT_EQ(view->k_scale->extent[2], 20); // pages of 64 tokens, but no longer than the capacity
}

void expect_refused(const Status &status, attune_status code, const std::string &sentence) {
    EXPECT_EQ(status.code, code);
    EXPECT_EQ(status.message, sentence);
}

TEST(KvCache, RefusesBySentence) {
    KvCache cache = made(small());
    ASSERT_TRUE(cache.add().ok() && cache.add().ok());
    const auto bad = [](const Status &status, const std::string &sentence) { expect_refused(status, ATTUNE_INVALID_ARGUMENT, sentence); };
    bad(cache.begin({0, 2}, 1), "sequence is 2; the cache has none of that number");
    bad(cache.begin({0, -1}, 1), "sequence is -1; the cache has none of that number");
    bad(cache.begin({0, 0}, 1), "sequences has 0 twice; it must have each once");
    bad(cache.begin({0, 1, 0}, 1), "count is 3; the cache has 2 sequences, each of which may be there once");
    bad(cache.begin({0}, -1), "new_tokens is -1; it must be 0 or more");
    bad(cache.begin({0}, 21), "new_tokens is 21; sequence 0 has 0 tokens, and room for 20 more");
    bad(cache.end(), "there is no batch to end: attune_kv_cache_begin comes first");
    bad(cache.layer(0).status(), "layer is 0; there is no batch: attune_kv_cache_begin comes first");
    bad(cache.fork(0, 1).status(), "tokens is 1; it must be 0 to 0, the sequence's length");
    bad(cache.fork(7, 0).status(), "sequence is 7; the cache has none of that number");
    bad(cache.truncate(0, 1), "tokens is 1; it must be 0 to 0, the sequence's length");
    bad(cache.remove(2), "sequence is 2; the cache has none of that number");
    ASSERT_TRUE(cache.begin({0, 1}, 20).ok() && cache.end().ok());
    bad(cache.layer(2).status(), "layer is 2; it must be 0 to 1");
    ASSERT_TRUE(cache.add().ok() && cache.add().ok());
    expect_refused(cache.begin({2, 3}, 13), ATTUNE_OUT_OF_MEMORY,
                   "the cache has 6 free pages of 4 tokens; 2 sequences with 13 new tokens each need 8");
    EXPECT_EQ(cache.free_pages(), 6);
    // What a batch has that isn't ended counts as free, and stays its own where that isn't enough.
    ASSERT_TRUE(cache.begin({2}, 13).ok());
    EXPECT_EQ(cache.free_pages(), 2);
    expect_refused(cache.begin({2, 3}, 13), ATTUNE_OUT_OF_MEMORY,
                   "the cache has 6 free pages of 4 tokens; 2 sequences with 13 new tokens each need 8");
    EXPECT_EQ(cache.free_pages(), 2);
    ASSERT_TRUE(cache.layer(0).ok() && cache.end().ok());
    EXPECT_EQ(cache.length(2), 13);
    ASSERT_TRUE(cache.truncate(2, 0).ok() && cache.begin({2}, 13).ok() && cache.begin({2, 3}, 12).ok());
    EXPECT_EQ(cache.free_pages(), 0);
    ASSERT_TRUE(cache.remove(0).ok());
    EXPECT_EQ(cache.length(0), -1);
    bad(cache.remove(0), "sequence is 0; the cache has none of that number");
    EXPECT_EQ(*cache.add(), 0); // a number may be given again
}

TEST(KvCache, RefusesDescriptionsBySentence) {
    const auto sentence = [](auto change) {
        KvCacheDesc desc = small();
        change(desc);
        return KvCache::create(desc).status().message;
    };
    EXPECT_EQ(sentence([](KvCacheDesc &d) { d.dtype = ATTUNE_I32; }), "desc.dtype is i32; it must be f32, f16, bf16 or i8");
    EXPECT_EQ(sentence([](KvCacheDesc &d) { d.layers = 0; }), "desc.layers is 0; it must be 1 to 536870911");
    EXPECT_EQ(sentence([](KvCacheDesc &d) { d.kv_heads = 0; }), "desc.kv_heads is 0; it must be 1 to 1073741823");
    EXPECT_EQ(sentence([](KvCacheDesc &d) { d.pages = -1; }), "desc.pages is -1; it must be 1 to 1073741823");
    EXPECT_NE(sentence([](KvCacheDesc &d) { d.pages = d.capacity = d.page_tokens = 1 << 29; }), "");
}

TEST(KvCache, NullPointers) {
    attune_kv_cache_desc desc = ATTUNE_KV_CACHE_DESC_INIT;
    attune_kv_cache *cache = nullptr;
    int64_t number = 0;
    EXPECT_EQ(attune_kv_cache_create(&desc, nullptr), ATTUNE_INVALID_ARGUMENT);
    EXPECT_EQ(attune_kv_cache_create(nullptr, &cache), ATTUNE_INVALID_ARGUMENT);
    desc.struct_size = 8;
    EXPECT_EQ(attune_kv_cache_create(&desc, &cache), ATTUNE_INVALID_ARGUMENT);
    EXPECT_EQ(attune_kv_cache_add(nullptr, &number), ATTUNE_INVALID_ARGUMENT);
    EXPECT_EQ(attune_kv_cache_end(nullptr), ATTUNE_INVALID_ARGUMENT);
    EXPECT_EQ(attune_kv_cache_length(nullptr, 0), -1);
    attune_kv_cache_destroy(nullptr);
    KvCache some = made(small());
    EXPECT_EQ(some.begin({}, 3).code, ATTUNE_OK);
}

} // namespace
} // namespace attune::kv_cache_test
