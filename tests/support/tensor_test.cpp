#include "tensor.h"

#include <gtest/gtest.h>

namespace attune::test::tensor_test {
namespace {

TEST(Tensor, KeepsItsValuesInAnyLayout) {
    const Tensor<float> plain({2, 3, 4, 5});
    float next = 0;
    plain.each([&](float &value) { value = next++; });
    for (const Layout &layout : {Layout::tokens_first(3), Layout::heads_first(7)}) {
        const Tensor<float> other = plain.laid_out(layout);
        EXPECT_EQ(other.values(), plain.values());
        EXPECT_NE(other.stride, plain.stride);
        EXPECT_TRUE(other.canaries_intact());
    }
    EXPECT_EQ(plain.laid_out(Layout::tokens_first()).stride, (std::vector<int64_t>{60, 5, 15, 1}));
}

TEST(Tensor, SeesAWriteBetweenItsElements) {
    const Tensor<float> tensor({2, 3}, {{}, 1});
    EXPECT_TRUE(tensor.untouched());
    tensor.fill(1);
    EXPECT_FALSE(tensor.untouched());
    EXPECT_TRUE(tensor.canaries_intact());
    tensor(0, 3) = 1;
    EXPECT_FALSE(tensor.canaries_intact());
}

TEST(Tensor, SeesAWriteJustOutside) {
    const Tensor<float> tensor({2, 3});
    tensor.data()[-1] = 0;
    EXPECT_FALSE(tensor.canaries_intact());
}

TEST(Tensor, BroadcastsAxesOfExtentOne) {
    const Tensor<float> row({1, 1, 1, 3});
    row(0, 0, 0, 1) = 5;
    const Tensor<float> wide = row.broadcast({2, 4, 6, 3});
    EXPECT_EQ(wide(1, 3, 5, 1), 5);
    EXPECT_EQ(wide.stride, (std::vector<int64_t>{0, 0, 0, 1}));
}

TEST(Tensor, PacksQueryKeyAndValue) {
    const auto [q, k, v] = packed_qkv(2, 3, 4, 5);
    q.fill(1), k.fill(2), v.fill(3);
    EXPECT_EQ(k(1, 2, 3, 4), 2);
    EXPECT_EQ(k.data() - q.data(), 15);
    EXPECT_EQ(q.stride, (std::vector<int64_t>{180, 5, 45, 1}));
    EXPECT_EQ(v.item(1)(0, 2, 3, 4), 3);
}

} // namespace
} // namespace attune::test::tensor_test
