// Every attention kernel for CUDA over a cache: appended to and attended over in one call, step after step.
#include "attention_kernel_test.h"

#include <algorithm>
#include <cstdint>

#include "cache_model.h"
#include "device_cache.h"

namespace attune::test {
namespace {

class CudaCache : public SeededTestWithParam<const attune_kernel *> {
protected:
    void SetUp() override {
        if (!is_for_this_device(kernel())) GTEST_SKIP() << kernel().name << " is for capability 9.0"; // CudaAttention sees it refused
    }

    const attune_kernel &kernel() const { return *GetParam(); }
    bool of_words() const { return kernel().word_channels != 0; }

    CacheSetting setting() const {
        CacheSetting s;
        s.dim = s.value_dim = head_dim_or(kernel(), of_words() ? 80 : 20), s.schedule = kernel().schedule;
        s.dtype = s.cache_dtype = kernel().dtype, s.device = ATTUNE_CUDA, s.run = run_on_device;
        return s;
    }

    /** A prefill, tokens one by one, more queries than new tokens, nothing new, an append alone, and the last query alone. */
    void expect_right_steps(const CacheSetting &s) {
        test::expect_right_steps(s, random, {{11, 11}, {1, 1}, {9, 4}, {3, 0}, {0, 13}, {1, 1}});
    }
};

std::vector<const attune_kernel *> kernels() {
    std::vector<const attune_kernel *> all = attention_kernels_on_cuda();
    for (const char *schedule : {"simt", "split_kv"})
        for (const attune_kernel *kernel : attention_kernels_on_cuda(schedule))
            if (kernel->dtype == ATTUNE_F32) all.push_back(kernel);
    return all;
}

/** All widths of f32 and bf16: kernels of f16 differ from those of bf16 in products and conversions alone. */
std::vector<const attune_kernel *> all_widths() {
    std::vector<const attune_kernel *> all = kernels();
    all.erase(std::remove_if(all.begin(), all.end(), [](const attune_kernel *kernel) { return kernel->dtype == ATTUNE_F16; }), all.end());
    return all;
}
INSTANTIATE_TEST_SUITE_P(Prebuilt, CudaCache, ::testing::ValuesIn(all_widths()), kernel_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaCache);

/** What depends on no width: by one kernel of each schedule and type. */
class CudaCacheForms : public CudaCache {};
std::vector<const attune_kernel *> one_of_each_kind() {
    std::vector<const attune_kernel *> kinds;
    for (const attune_kernel *kernel : kernels()) {
        const auto is_alike = [kernel](const attune_kernel *other) {
            return std::string(other->schedule) == kernel->schedule && other->dtype == kernel->dtype;
        };
        if (std::none_of(kinds.begin(), kinds.end(), is_alike)) kinds.push_back(kernel);
    }
    return kinds;
}
INSTANTIATE_TEST_SUITE_P(Prebuilt, CudaCacheForms, ::testing::ValuesIn(one_of_each_kind()), kernel_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CudaCacheForms);

TEST_P(CudaCache, OneTensorAnItem) { expect_right_steps(setting()); }

TEST_P(CudaCache, Pages) {
    for (int64_t size : {1, 16}) {
        CacheSetting s = setting();
        s.page_size = size;
        expect_right_steps(s);
    }
}

TEST_P(CudaCacheForms, PagesOfAnySize) {
    CacheSetting s = setting();
    s.page_size = 17, s.capacity = 68;
    if (!of_words()) return expect_right_steps(s);
    CacheModel cache(s, random);
    cache.draw(1, 1);
    const Status status = cache.step().status;
    EXPECT_EQ(status.code, ATTUNE_INVALID_ARGUMENT);
    EXPECT_NE(status.message.find("cache.k.extent[2] is 17; with a block table it must be a power of two"), std::string::npos)
        << status.message;
}

/** In several blocks and chunks of keys, with pages that end within them. */
TEST_P(CudaCache, ManyPages) {
    for (int64_t size : {32, 256}) {
        CacheSetting s = setting();
        s.capacity = 512, s.page_size = size;
        CacheModel cache(s, random);
        cache.expect_right_step(3, 290);
        cache.shorten({7, 129});
        cache.expect_right_step(1, 1);
        cache.expect_right_step(2, 70);
    }
}

TEST_P(CudaCacheForms, TokensBeforeHeadsInMemory) {
    for (int64_t size : {0, 16}) {
        CacheSetting s = setting();
        s.page_size = size, s.tokens_first = true;
        expect_right_steps(s);
    }
}

TEST_P(CudaCacheForms, HeadsInGroups) {
    CacheSetting s = setting();
    s.query_heads = 6, s.key_heads = 3, s.page_size = 16;
    expect_right_steps(s);
    s.query_heads = 8, s.key_heads = 1;
    expect_right_steps(s);
}

TEST_P(CudaCacheForms, MasksAndScores) {
    for (const char *mask : {"none", "causal & window(6, 0)", "causal & lengths"}) {
        CacheSetting s = setting();
        s.mask = mask, s.page_size = 16, s.score = "alibi";
        expect_right_steps(s);
    }
}

TEST_P(CudaCacheForms, IsFilledToTheLastToken) {
    CacheSetting s = setting();
    s.page_size = 16, s.batch = 1;
    CacheModel cache(s, random);
    cache.expect_right_step(1, 63);
    cache.expect_right_step(1, 1);
}

/** Nothing looks at numbers on the device: tokens without a place are left out, as are those of entries that are no pages, and nothing
 * outside the cache is written or read. */
TEST_P(CudaCacheForms, WrongNumbersWriteNothingElsewhere) {
    const int64_t dim = setting().dim, heads = 2;
    const auto written = [&](int64_t length, const std::vector<int32_t> &entries) {
        const TypedTensor keys(kernel().dtype, {5, heads, 16, dim}), values(kernel().dtype, {5, heads, 16, dim});
        const TypedTensor rows(kernel().dtype, Tensor<float>({1, heads, 4, dim}));
        const Tensor<float> lse({1, heads, 4});
        const Tensor<int32_t> lengths({1}), table({1, 4});
        lengths(0) = static_cast<int32_t>(length);
        for (int64_t p = 0; p < 4; p++)
            table(0, p) = entries[static_cast<size_t>(p)];
        const attune_tensor table_view = table.view(), lse_view = lse.view();
        attune_cache cache;
        attune_cache_init(&cache);
        cache.k = keys.view(), cache.v = values.view(), cache.lengths = lengths.view(), cache.block_table = &table_view;
        const TypedTensor out(kernel().dtype, {1, heads, 4, dim});
        AttentionArgs args(rows.view(), rows.view(), rows.view(), out.view());
        args.cache = &cache, args.lse = &lse_view;
        AttentionDesc desc;
        desc.dtype = kernel().dtype, desc.head_dim = dim, desc.schedule = kernel().schedule, desc.device = ATTUNE_CUDA;
        const Status status = run_on_device(AttentionPlan::create(desc).value(), args);
        EXPECT_TRUE(status.ok()) << status.message;
        int64_t count = 0;
        for (const TypedTensor *pool : {&keys, &values})
            for_each_index(pool->extents(), [&](const Extents &index) { count += !pool->untouched(index); });
        return count / (2 * heads * dim);
    };
    EXPECT_EQ(written(60, {3, 0, 4, 1}), 4);
    EXPECT_EQ(written(62, {3, 0, 4, 1}), 2);
    for (int64_t length : {int64_t{64}, int64_t{1000000}, int64_t{INT32_MAX}, int64_t{-1}, int64_t{INT32_MIN}})
        EXPECT_EQ(written(length, {3, 0, 4, 1}), 0) << length;
    EXPECT_EQ(written(14, {3, 5, 4, 1}), 2);
    EXPECT_EQ(written(14, {-1, 1 << 30, 4, 1}), 0);
}

} // namespace
} // namespace attune::test
