// Kernels of attune_add_kernel(DEVICE cuda) over caches: the mask that is compiled in counts from each item's own length.
#include "attention_kernel_test.h"
#include "cache_model.h"
#include "device_cache.h"
#include "own_documents_kernels.h"

namespace attune::test {
namespace {

class CudaOwnCache : public SeededTestWithParam<const attune_kernel *> {
protected:
    void SetUp() override {
        if (!is_for_this_device(*GetParam())) GTEST_SKIP() << GetParam()->name << " is for capability 9.0";
    }

    CacheSetting setting(int64_t document_length) const {
        CacheSetting s;
        s.kernel = GetParam(), s.mask = GetParam()->mask, s.schedule = GetParam()->schedule;
        s.dim = s.value_dim = head_dim_or(*GetParam(), 20);
        s.dtype = s.cache_dtype = GetParam()->dtype, s.device = ATTUNE_CUDA, s.run = run_on_device;
        s.document = [document_length](int64_t position) { return static_cast<int32_t>(position / document_length); };
        return s;
    }
};
INSTANTIATE_TEST_SUITE_P(Own, CudaOwnCache, ::testing::ValuesIn(own_documents_kernels()), kernel_name);

TEST_P(CudaOwnCache, StepByStep) {
    for (int64_t page_size : {0, 16}) {
        CacheSetting s = setting(7);
        s.page_size = page_size;
        expect_right_steps(s, random, {{11, 11}, {1, 1}, {9, 4}, {3, 0}, {0, 13}, {1, 1}});
    }
}

/** Several blocks and chunks of keys, most of them of other documents, and items of other lengths. */
TEST_P(CudaOwnCache, ManyKeys) {
    for (int64_t page_size : {0, 32}) {
        CacheSetting s = setting(100);
        s.capacity = 512, s.page_size = page_size;
        CacheModel cache(s, random);
        cache.expect_right_step(3, 290);
        cache.shorten({7, 129});
        cache.expect_right_step(1, 1);
        cache.expect_right_step(70, 70);
    }
}

} // namespace
} // namespace attune::test
