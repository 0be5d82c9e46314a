// Masks as kernels for CUDA take them. Needs no GPU.
#include "runtime/src/cuda/mask.h"

#include <string>

#include <gtest/gtest.h>

#include "runtime/src/cuda/device.h"

namespace attune::runtime::cuda_mask_test {
namespace {

constexpr int32_t none = 1 << 30;

CudaMask read(const char *text) {
    const text::ParseResult parsed = text::parse_mask(text);
    EXPECT_TRUE(parsed.ok()) << parsed.error;
    CudaMask mask;
    const Status status = read_cuda_mask(parsed.mask, mask);
    EXPECT_TRUE(status.ok()) << status.message;
    return mask;
}

CudaPositions sizes(int64_t queries, int64_t keys) { return {queries, keys, false, false, 0, false, {}}; }

void expect_window(const char *text, const CudaPositions &at, int32_t offset, int32_t left, int32_t right) {
    CudaWindow window;
    const Status status = place_cuda_mask(read(text), at, window);
    ASSERT_TRUE(status.ok()) << status.message;
    EXPECT_EQ(window.offset, offset) << text;
    EXPECT_EQ(window.left, left) << text;
    EXPECT_EQ(window.right, right) << text;
}

void expect_error(const char *text, const CudaPositions &at, const char *words) {
    CudaWindow window;
    const Status status = place_cuda_mask(read(text), at, window);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message.find(words), std::string::npos) << status.message;
}

TEST(CudaMask, Terms) {
    expect_window("none", sizes(5, 5), 0, none, none);
    expect_window("causal", sizes(5, 5), 0, none, 0);
    expect_window("window(3, 2)", sizes(5, 5), 0, 3, 2);
    expect_window("window(-1, 2)", sizes(5, 5), 0, none, 2);
    expect_window("causal & window(3, 2) & lengths", sizes(5, 5), 0, 3, 0);
    EXPECT_TRUE(read("causal & lengths").lengths);
    EXPECT_FALSE(read("causal").lengths);
}

TEST(CudaMask, Alignments) {
    expect_window("causal(bottom_right)", sizes(5, 8), 3, none, 0);
    expect_window("causal(top_left)", sizes(5, 8), 0, none, 0);
    // j <= i + 3 and j >= i - 2: around i + 3 that is 5 to the left.
    expect_window("causal(bottom_right) & window(2, 100, top_left)", sizes(5, 8), 3, 5, 0);
    expect_window("window(2, 100, top_left) & causal(bottom_right)", sizes(5, 8), 0, 2, 3);
    expect_window("window(4, 1, bottom_right) & causal(top_left)", sizes(8, 5), -3, 4, 1);
}

TEST(CudaMask, Offsets) {
    CudaPositions at = sizes(5, 8);
    at.has_offset = true, at.offset = 7;
    expect_window("causal & window(2, 0)", at, 7, 2, 0);
    expect_window("causal & window(2, 100, top_left)", at, 7, 9, 0);
    at.use_alibi = true, at.alibi = text::Alignment::bottom_right;
    expect_window("causal", at, 3, none, 4);
    at = sizes(5, 8), at.has_offsets = true;
    CudaWindow window;
    ASSERT_TRUE(place_cuda_mask(read("causal & window(2, 0)"), at, window).ok());
    EXPECT_TRUE(window.use_offsets);
    EXPECT_EQ(window.left, 2);
    // Nothing of it stands at an item's own offset.
    window = {};
    ASSERT_TRUE(place_cuda_mask(read("causal(bottom_right)"), at, window).ok());
    EXPECT_FALSE(window.use_offsets);
    EXPECT_EQ(window.offset, 3);
}

TEST(CudaMask, Refusals) {
    CudaPositions at = sizes(5, 8);
    at.has_offsets = true;
    expect_error("causal & window(2, 0, top_left)", at, "name an alignment beside others that don't");
    at = sizes(5, 8), at.has_offset = true, at.offset = int64_t{1} << 40;
    expect_error("causal", at, "offset is 1099511627776");
    expect_error("causal", sizes(int64_t{1} << 29, 8), "q has 536870912 queries");
    expect_error("none", sizes(8, int64_t{1} << 29), "k has 536870912 keys");
    for (const char *text :
         {"!causal", "causal | prefix(3)", "prefix(3)", "documents", "dilated(2)", "blocks(2, 2)", "tensor", "strided(4)"}) {
        CudaMask mask;
        const Status status = read_cuda_mask(text::parse_mask(text).mask, mask);
        EXPECT_EQ(status.code, ATTUNE_UNSUPPORTED);
        EXPECT_NE(status.message.find("on device cuda it must be made of"), std::string::npos) << status.message;
    }
}

TEST(CudaTargets, RunOnWhatTheyAreFor) {
    EXPECT_TRUE(runs_on_cuda("sm_80,sm_90,compute_80", 80));
    EXPECT_TRUE(runs_on_cuda("sm_80", 86));
    EXPECT_FALSE(runs_on_cuda("sm_80", 90));
    EXPECT_TRUE(runs_on_cuda("sm_75,compute_80", 120));
    EXPECT_FALSE(runs_on_cuda("sm_86,compute_80", 75));
    EXPECT_TRUE(runs_on_cuda("sm_90a", 90));
    EXPECT_FALSE(runs_on_cuda("sm_90a", 100));
    EXPECT_TRUE(runs_on_cuda("compute_90a", 90));
    EXPECT_FALSE(runs_on_cuda("sm_90a,compute_90a", 100));
    EXPECT_FALSE(runs_on_cuda("sm_90a,compute_90a", 89));
    EXPECT_FALSE(runs_on_cuda("", 90));
}

} // namespace
} // namespace attune::runtime::cuda_mask_test
