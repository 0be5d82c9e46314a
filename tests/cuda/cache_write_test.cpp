// New tokens into a cache on a GPU, as on the CPU.
#include <algorithm>
#include <string>

#include "attune/attune.hpp"
#include "device_memory.h"
#include "kernels.h"
#include "random.h"
#include "typed_tensor.h"

namespace attune::test {
namespace {

struct Write {
    const char *name;
    attune_type type;
    Extents cache;
    std::vector<int> order; // axes in memory, slowest first
    int32_t axis;
    int64_t tokens;
    std::vector<int32_t> starts; // empty: none
    bool circular;
};
void PrintTo(const Write &write, std::ostream *stream) { *stream << write.name; }

bool has_kernel(attune_type type) {
    for (int32_t index = 0; index < attune_kernel_count(); index++) {
        const attune_kernel *kernel = attune_kernel_at(index);
        if (std::string(kernel->operation) == "cache_write" && kernel->dtype == type) return true;
    }
    return false;
}

class CudaCacheWrite : public SeededTestWithParam<Write> {};

/** The CPU's answer is what tests/runtime holds to its definition. */
TEST_P(CudaCacheWrite, GivesWhatTheCpuDoes) {
    const Write &w = GetParam();
    if (!has_kernel(w.type == ATTUNE_F32 ? ATTUNE_F32 : ATTUNE_F16)) GTEST_SKIP() << "no kernel is linked in";
    Extents extents = w.cache;
    extents[static_cast<size_t>(w.axis < 0 ? w.axis + static_cast<int32_t>(extents.size()) : w.axis)] = w.tokens;
    const Tensor<float> numbers(extents);
    random.fill_normal(numbers);
    const TypedTensor update(w.type, numbers), expected(w.type, w.cache, w.order), got(w.type, w.cache, w.order);
    const auto count = static_cast<int64_t>(w.starts.size());
    const attune_tensor starts = attune_contiguous(const_cast<int32_t *>(w.starts.data()), ATTUNE_I32, 1, &count);
    const TensorView host_starts(starts);
    CacheWriteOptions options = {w.axis, count > 0 ? &host_starts : nullptr, w.circular};
    ASSERT_TRUE(cache_write(expected.view(), update.view(), options).ok());

    DeviceMemory memory;
    const attune_tensor cache = memory.upload(got.view());
    const TensorView there(memory.upload(starts));
    if (count > 0) options.starts = &there;
    const Status status = cache_write(cache, memory.upload(update.view()), options);
    ASSERT_TRUE(status.ok()) << status.message;
    memory.download(cache, got.view());
    EXPECT_EQ(got.bytes(), expected.bytes());
    EXPECT_TRUE(w.tokens == 0 || std::any_of(got.bytes().begin(), got.bytes().end(), [](uint8_t byte) { return byte != 0xff; }));
}

const Write writes[] = {
    {"Rank4", ATTUNE_F32, {2, 3, 9, 40}, {}, -2, 4, {5, 0}, false},
    {"Bf16", ATTUNE_BF16, {2, 3, 9, 40}, {}, -2, 4, {5, 2}, false},
    {"F16InAnyOrder", ATTUNE_F16, {2, 3, 9, 33}, {0, 2, 1, 3}, 2, 9, {0, 0}, false},
    {"Circular", ATTUNE_F32, {3, 2, 7, 5}, {}, -2, 6, {5, 700, 0}, true},
    {"WithoutStarts", ATTUNE_F16, {2, 20, 3}, {}, 1, 11, {}, false},
    {"Rank2", ATTUNE_F32, {3, 50}, {}, 1, 7, {43, 1, 20}, false},
    {"TokensLast", ATTUNE_F32, {2, 3, 4, 70}, {}, 3, 40, {30, 3}, false},
    {"TokensSecond", ATTUNE_BF16, {2, 6, 3, 4}, {3, 2, 1, 0}, 1, 2, {4, 0}, false},
    {"NoTokens", ATTUNE_F32, {2, 3, 9, 4}, {}, -2, 0, {5, 0}, false},
};
INSTANTIATE_TEST_SUITE_P(Writes, CudaCacheWrite, ::testing::ValuesIn(writes),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace attune::test
