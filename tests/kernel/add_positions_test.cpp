// Positions added to the input, sinusoidal and learned: every kernel.
#include <algorithm>

#include "attune/attune.hpp"
#include "compare.h"
#include "half.h"
#include "kernels.h"
#include "position_oracle.h"
#include "random.h"

namespace attune::test {
namespace {

class AddPositions : public SeededTestWithParam<const attune_kernel *> {
protected:
    /** What is added in channel d of a token at a position. */
    using RowOf = std::function<double(int64_t position, int64_t d)>;

    void expect_right(const Tensor<float> &x, AddPositionsOptions how, const PositionOf &position, const RowOf &row) {
        const Tensor<float> y(x.extent, {{}, 3});
        how.schedule = GetParam()->schedule;
        const Status status = add_positions(x.view(), y.view(), how);
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_TRUE(y.canaries_intact());
        const size_t rank = x.extent.size();
        const int64_t tokens = x.extent[rank - 2], dim = x.extent[rank - 1], rows = rank == 4 ? x.extent[1] * tokens : tokens;
        std::vector<double> exact = to_double(x);
        for (int64_t i = 0; i < static_cast<int64_t>(exact.size()); i++)
            exact[i] += row(position(0, i / dim / rows, i / dim % tokens), i % dim);
        EXPECT_TRUE(agrees(to_double(y), exact, {1e-5, 1, 0}));
    }
    Tensor<float> normal(const Extents &extents, const Layout &layout = {}) {
        const Tensor<float> x(extents, layout);
        random.fill_normal(x);
        return x;
    }
};

PositionOf counted_from(int64_t offset) {
    return [offset](int64_t, int64_t, int64_t token) { return offset + token; };
}

TEST_P(AddPositions, Sinusoidal) {
    for (int64_t dim : {1, 2, 7, 16, 33, 64})
        for (int64_t offset : {0, -5, 1000000 - 9}) {
            AddPositionsOptions how;
            how.offset = offset, how.base = 500;
            const auto row = [&](int64_t position, int64_t d) { return sinusoid(position, d, dim, 500); };
            expect_right(normal({2, 3, 9, dim}, Layout::tokens_first(1)), how, counted_from(offset), row);
            expect_right(normal({9, dim}), how, counted_from(offset), row);
        }
}

TEST_P(AddPositions, SinusoidalAtGivenPlaces) {
    const Tensor<int64_t> numbers({2, 9});
    numbers.each([&](int64_t &value) { value = random.between(-1000000, 1000000); });
    const TensorView view = numbers.view();
    AddPositionsOptions how;
    how.positions = &view;
    const auto position = [&](int64_t, int64_t batch, int64_t token) { return numbers(batch, token); };
    const auto row = [](int64_t p, int64_t d) { return sinusoid(p, d, 20, 10000); };
    expect_right(normal({2, 3, 9, 20}), how, position, row);
    expect_right(normal({2, 9, 20}), how, position, row); // no heads: the first axis is the batch
}

TEST_P(AddPositions, Learned) {
    for (int64_t dim : {1, 16, 23}) {
        const Tensor<float> table = normal({12, dim}, {{}, 2});
        const TensorView table_view = table.view();
        AddPositionsOptions how;
        how.table = &table_view, how.offset = 3;
        const auto row = [&](int64_t position, int64_t d) { return double(table(position, d)); };
        expect_right(normal({2, 3, 9, dim}), how, counted_from(3), row);

        const Tensor<int32_t> shared({9}), own({2, 9});
        for (const Tensor<int32_t> &numbers : {shared, own}) {
            numbers.each([&](int32_t &value) { value = static_cast<int32_t>(random.between(0, 11)); });
            const TensorView view = numbers.view();
            how.positions = &view;
            const bool one = numbers.extent.size() == 1;
            const auto position = [&](int64_t, int64_t batch, int64_t token) -> int64_t {
                return one ? numbers(token) : numbers(batch, token);
            };
            expect_right(normal({2, 3, 9, dim}), how, position, row);
        }
    }
}

TEST_P(AddPositions, InPlace) {
    const Tensor<float> x = normal({2, 3, 9, 20}), y({2, 3, 9, 20});
    AddPositionsOptions how;
    how.schedule = GetParam()->schedule;
    ASSERT_TRUE(add_positions(x.view(), y.view(), how).ok());
    ASSERT_TRUE(add_positions(x.view(), x.view(), how).ok());
    EXPECT_TRUE(same_bits(x, y));
}

TEST_P(AddPositions, NothingToDo) {
    for (const Extents &extents : {Extents{0, 2, 9, 16}, {2, 0, 9, 16}, {0, 16}, {3, 0}}) {
        const Tensor<float> x(extents), y(extents);
        AddPositionsOptions how;
        how.schedule = GetParam()->schedule;
        EXPECT_TRUE(add_positions(x.view(), y.view(), how).ok());
        EXPECT_TRUE(y.untouched());
    }
}

/** Numbers of 16 bits are worked out as those of f32 that they are, and rounded once: to the bit. Tables are f32. */
TEST(AddPositionsOfSixteenBits, IsThatOfF32Rounded) {
    Random random(3);
    const Tensor<float> drawn({2, 3, 21, 23}), wide(drawn.extent), exact(drawn.extent), table({30, 23});
    const Tensor<int64_t> numbers({2, 21});
    random.fill_normal(drawn), random.fill_normal(table);
    numbers.each([&](int64_t &value) { value = random.between(0, 29); });
    const TensorView table_view = table.view(), positions = numbers.view();
    for (attune_type type : {ATTUNE_BF16, ATTUNE_F16})
        for (const TensorView *rows : {static_cast<const TensorView *>(nullptr), &table_view})
            for (const TensorView *given : {static_cast<const TensorView *>(nullptr), &positions}) {
                SCOPED_TRACE(std::string(rows ? "learned" : "sinusoidal") + (given ? ", given" : ""));
                AddPositionsOptions how;
                how.table = rows, how.positions = given, how.offset = given ? 0 : 9;
                const HalfTensor x(type, drawn), y(type, drawn);
                const std::vector<double> values = x.values();
                std::copy(values.begin(), values.end(), wide.data());
                ASSERT_TRUE(add_positions(wide.view(), exact.view(), how).ok());
                const Status status = add_positions(TensorView(x.view()), TensorView(y.view()), how);
                ASSERT_TRUE(status.ok()) << status.message;
                EXPECT_EQ(y.bits, HalfTensor(type, exact).bits);
                ASSERT_TRUE(add_positions(TensorView(x.view()), TensorView(x.view()), how).ok());
                EXPECT_EQ(x.bits, y.bits) << "in place";
            }
}

TEST(AddPositionsOfSixteenBits, TypesAreNotMixed) {
    const Tensor<float> numbers({9, 16});
    numbers.fill(1);
    const HalfTensor x(ATTUNE_BF16, numbers), y(ATTUNE_F16, numbers);
    const TensorView table(x.view());
    AddPositionsOptions learned;
    learned.table = &table;
    EXPECT_EQ(add_positions(TensorView(x.view()), TensorView(y.view())).message, "y.type is f16; it must be bf16");
    EXPECT_EQ(add_positions(numbers.view(), numbers.view(), learned).message, "table.type is bf16; it must be f32");
}

ATTUNE_FOR_EACH_KERNEL(AddPositions, "add_positions");

} // namespace
} // namespace attune::test
