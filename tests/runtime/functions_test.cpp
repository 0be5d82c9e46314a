// Softmax, rotary embedding and the sinusoidal table over fake kernels: shapes, strides, places of arguments, errors.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "fake_kernels.h"
#include "runtime/src/kernel/stream.h"
#include "runtime/src/tensor/overlap.h"

namespace attune::runtime::functions_test {
namespace {

attune_tensor contiguous(std::vector<float> &memory, std::vector<int64_t> extents) {
    return attune_contiguous(memory.data(), ATTUNE_F32, static_cast<int32_t>(extents.size()), extents.data());
}

std::vector<float> numbers(size_t count) {
    std::vector<float> memory(count);
    std::mt19937 random(8);
    std::normal_distribution<float> normal;
    for (float &value : memory)
        value = normal(random);
    return memory;
}

/** Where each row begins, in elements from the tensor's first. */
std::vector<int64_t> rows_of(const attune_tensor &t) {
    std::vector<int64_t> rows = {0};
    for (int32_t axis = 0; axis + 1 < t.rank; ++axis) {
        std::vector<int64_t> inner;
        for (int64_t row : rows)
            for (int64_t i = 0; i < t.extent[axis]; ++i)
                inner.push_back(row + i * t.stride[axis]);
        rows = inner;
    }
    return rows;
}

/** Each row of y sums to 1, and its ratios are those of exp(x). */
void expect_softmax(const attune_tensor &x, const attune_tensor &y, const std::vector<float> &before) {
    const int64_t width = x.extent[x.rank - 1];
    const std::vector<int64_t> from = rows_of(x), to = rows_of(y);
    for (size_t row = 0; row < from.size(); ++row) {
        const float *in = before.data() + from[row], *out = static_cast<const float *>(y.data) + to[row];
        double sum = 0;
        for (int64_t i = 0; i < width; ++i)
            sum += std::exp(static_cast<double>(in[i]));
        for (int64_t i = 0; i < width; ++i)
            EXPECT_NEAR(static_cast<double>(out[i]), std::exp(static_cast<double>(in[i])) / sum, 1e-6);
    }
}

attune_status softmax(const attune_tensor &x, const attune_tensor &y, int32_t axis = -1, const attune_tensor *mask = nullptr) {
    attune_softmax_args args;
    attune_softmax_args_init(&args);
    args.x = x, args.y = y, args.axis = axis, args.mask = mask;
    seen().clear();
    return attune_softmax(&args, nullptr);
}

TEST(Softmax, TakesContiguousTensorsOfAnyRankInOneCall) {
    const std::vector<int64_t> all = {2, 1, 3, 2, 1, 2, 1, 5};
    for (size_t rank = 1; rank <= 8; ++rank) {
        std::vector<float> in = numbers(120), out(120);
        const std::vector<int64_t> extents(all.end() - static_cast<ptrdiff_t>(rank), all.end());
        const attune_tensor x = contiguous(in, extents), y = contiguous(out, extents);
        ASSERT_EQ(softmax(x, y), ATTUNE_OK) << attune_error_message();
        EXPECT_EQ(seen().kernels.size(), 1u);
        expect_softmax(x, y, in);
    }
}

TEST(Softmax, TakesStridesThatDontJoin) {
    std::vector<float> in = numbers(5000), out(5000);
    attune_tensor x = contiguous(in, {2, 3, 4, 5}), y = contiguous(out, {2, 3, 4, 5});
    x.stride[0] = 7, x.stride[1] = 0, x.stride[2] = 100; // broadcast, overlapping rows: an input may
    y.stride[0] = 1000, y.stride[1] = 300, y.stride[2] = 8;
    ASSERT_EQ(softmax(x, y), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().kernels.size(), 6u) << "the axis of 4 is the kernel's";
    expect_softmax(x, y, in);
}

TEST(Softmax, RunsAcrossColumnsWhereTheAxisIsNotContiguous) {
    std::vector<float> in = numbers(120), out(120);
    const attune_tensor x = contiguous(in, {2, 3, 4, 5}), y = contiguous(out, {2, 3, 4, 5});
    for (int32_t axis : {0, 1, 2, -4, -3, -2}) {
        ASSERT_EQ(softmax(x, y, axis), ATTUNE_OK) << attune_error_message();
        EXPECT_EQ(seen().kernels, std::vector<std::string>{"softmax_columns_vectorized"}) << "axis " << axis << " in one call";
        std::vector<double> sums(120, 0);
        const int64_t stride = x.stride[axis < 0 ? axis + 4 : axis], extent = x.extent[axis < 0 ? axis + 4 : axis];
        for (int64_t i = 0; i < 120; ++i)
            sums[static_cast<size_t>(i / (stride * extent) * stride + i % stride)] += static_cast<double>(out[static_cast<size_t>(i)]);
        for (int64_t line = 0; line < 120 / extent; ++line)
            EXPECT_NEAR(sums[static_cast<size_t>(line)], 1, 1e-6) << "axis " << axis;
    }
    EXPECT_EQ(softmax(x, y, 3), ATTUNE_OK);
    EXPECT_EQ(seen().kernels, std::vector<std::string>{"softmax_vectorized"});
}

TEST(Softmax, HandsTheMaskOverWithItsStrides) {
    std::vector<float> in = numbers(60), out(60);
    const attune_tensor x = contiguous(in, {3, 4, 5}), y = contiguous(out, {3, 4, 5});
    uint8_t allowed[5] = {1, 0, 1, 1, 0};
    const int64_t extents[] = {1, 1, 5};
    attune_tensor mask = attune_contiguous(allowed, ATTUNE_BOOL, 3, extents);
    ASSERT_EQ(softmax(x, y, -1, &mask), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().kernels.size(), 1u) << "the rows all have one mask, and are still one axis";
    for (size_t i = 0; i < 60; ++i)
        EXPECT_EQ(out[i] == 0, allowed[i % 5] == 0);
    const int64_t by_middle[] = {1, 4, 1};
    mask = attune_contiguous(allowed, ATTUNE_BOOL, 3, by_middle);
    ASSERT_EQ(softmax(x, y, 1, &mask), ATTUNE_OK) << attune_error_message();
    for (size_t i = 0; i < 60; ++i)
        EXPECT_EQ(out[i] == 0, allowed[i / 5 % 4] == 0);
}

TEST(Softmax, WorksInPlaceButNotBesideItself) {
    std::vector<float> memory = numbers(60);
    const std::vector<float> before = memory;
    attune_tensor x = contiguous(memory, {3, 4, 5}), y = x;
    ASSERT_EQ(softmax(x, y), ATTUNE_OK) << attune_error_message();
    expect_softmax(x, y, before);
    y.data = memory.data() + 1;
    EXPECT_EQ(softmax(x, y), ATTUNE_INVALID_ARGUMENT);
    EXPECT_STREQ(attune_error_message(), "y overlaps x in memory; it must be apart from x, or x itself");
}

TEST(Softmax, SucceedsWithoutElements) {
    std::vector<float> none;
    EXPECT_EQ(softmax(contiguous(none, {3, 0}), contiguous(none, {3, 0})), ATTUNE_OK);
    EXPECT_EQ(softmax(contiguous(none, {0, 3}), contiguous(none, {0, 3})), ATTUNE_OK);
    EXPECT_TRUE(seen().kernels.empty());
}

TEST(Softmax, RefusesBadArguments) {
    std::vector<float> in = numbers(60), out(60);
    attune_softmax_args good;
    attune_softmax_args_init(&good);
    good.x = contiguous(in, {3, 4, 5}), good.y = contiguous(out, {3, 4, 5});
    const auto message = [](const attune_softmax_args &args) {
        EXPECT_EQ(attune_softmax(&args, nullptr), ATTUNE_INVALID_ARGUMENT);
        return std::string(attune_error_message());
    };
    attune_softmax_args args = good;
    args.schedule = "fast";
    EXPECT_EQ(message(args), "schedule is \"fast\"; the schedules of softmax are vectorized, reference");
    args.log = 1;
    EXPECT_EQ(message(args), "schedule is \"fast\"; the schedules of log_softmax are vectorized");
    args = good, args.temperature = -1;
    EXPECT_EQ(message(args), "temperature is -1; it must be above 0");
    args = good, args.y.extent[1] = 3;
    EXPECT_EQ(message(args), "y.extent[1] is 3; it must be 4, as in x");
    args = good, args.x.rank = 9;
    EXPECT_EQ(message(args), "x.rank is 9; it must be 1 to 8");
    args = good, args.y.rank = 2;
    EXPECT_EQ(message(args), "y.rank is 2; it must be 3");
    args = good, args.x.data = nullptr;
    EXPECT_EQ(message(args), "x.data is NULL; the tensor has elements");
    EXPECT_EQ(attune_softmax(nullptr, nullptr), ATTUNE_INVALID_ARGUMENT);
}

TEST(Rotary, TurnsPairsByTheTable) {
    std::vector<float> in = numbers(120), out(120, 0);
    attune_rotary_args args;
    attune_rotary_args_init(&args);
    args.base = 500, args.offset = 7;
    for (const bool half : {true, false})
        for (const std::vector<int64_t> &extents : {std::vector<int64_t>{6, 4}, {2, 6, 4}, {3, 2, 5, 4}}) {
            args.layout = half ? ATTUNE_ROTARY_HALF : ATTUNE_ROTARY_INTERLEAVED;
            args.x = contiguous(in, extents), args.y = contiguous(out, extents);
            seen().clear();
            ASSERT_EQ(attune_rotary(&args, nullptr), ATTUNE_OK) << attune_error_message();
            EXPECT_EQ(seen().kernels.back(), half ? "rotary_half_vectorized" : "rotary_interleaved_vectorized");
            const auto tokens = static_cast<size_t>(extents[extents.size() - 2]);
            for (size_t row = 0; row < (extents.size() == 4 ? 30u : extents.size() == 3 ? 12u : 6u); ++row)
                for (size_t pair = 0; pair < 2; ++pair) {
                    const double angle = static_cast<double>(row % tokens + 7) * std::pow(500.0, -static_cast<double>(pair) / 2);
                    const size_t u = 4 * row + (half ? pair : 2 * pair), v = half ? u + 2 : u + 1;
                    ASSERT_NEAR(static_cast<double>(out[u]), in[u] * std::cos(angle) - in[v] * std::sin(angle), 1e-5);
                    ASSERT_NEAR(static_cast<double>(out[v]), in[v] * std::cos(angle) + in[u] * std::sin(angle), 1e-5);
                }
        }
}

/** A model's layers turn by one table, which is made once; whatever changes it makes another. */
TEST(Rotary, MakesATableOnce) {
    std::vector<float> in = numbers(2 * 3 * 6 * 8), out(in.size());
    int32_t places[12] = {0, 1, 2, 3, 4, 5, 9, 8, 7, 6, 5, 4};
    const int64_t place_extents[2] = {2, 6};
    const attune_tensor positions = attune_contiguous(places, ATTUNE_I32, 2, place_extents);
    attune_rotary_args args;
    attune_rotary_args_init(&args);
    args.offset = 3, args.x = contiguous(in, {2, 3, 6, 8}), args.y = contiguous(out, {2, 3, 6, 8});

    const auto tables_made = [&] {
        seen().clear();
        EXPECT_EQ(attune_rotary(&args, nullptr), ATTUNE_OK) << attune_error_message();
        EXPECT_EQ(seen().kernels.back(), "rotary_half_vectorized");
        return seen().kernels.size() - 1;
    };
    const auto expect_new = [&](const char *what) {
        EXPECT_EQ(tables_made(), 1u) << what;
        const std::vector<float> first = out;
        EXPECT_EQ(tables_made(), 0u) << what;
        EXPECT_EQ(out, first) << what;
    };
    attune_release_memory();
    expect_new("the first");
    args.base = 500;
    expect_new("base");
    args.base = 10000;
    EXPECT_EQ(tables_made(), 0u) << "both are kept";
    args.offset = 4;
    expect_new("offset");
    args.rotary_dim = 4;
    expect_new("rotary_dim");
    args.rotary_dim = 0, args.scaling = "linear(4)";
    expect_new("scaling");
    args.scaling = "linear(5)";
    expect_new("a number of scaling");
    args.scaling = nullptr, args.offset = 0, args.positions = &positions;
    expect_new("positions");
    places[11] = 5;
    expect_new("one position");
    attune_release_memory();
    EXPECT_EQ(tables_made(), 1u) << "memory was given back";
}

/** A table of 4 MiB at most has the tokens of a part: each of them is kept, unless there are too many. */
TEST(Rotary, KeepsTheTablesOfALongSequence) {
    struct Sequence {
        int64_t tokens;
        size_t parts;
        bool kept;
    };
    for (const auto &[tokens, parts, kept] : {Sequence{150000, 2, true}, {1048576, 8, true}, {1100000, 9, false}}) {
        std::vector<float> in = numbers(static_cast<size_t>(tokens) * 8), out(in.size());
        attune_rotary_args args;
        attune_rotary_args_init(&args);
        args.x = contiguous(in, {tokens, 8}), args.y = contiguous(out, {tokens, 8});
        attune_release_memory();
        for (const size_t tables : {parts, kept ? 0 : parts}) {
            seen().clear();
            ASSERT_EQ(attune_rotary(&args, nullptr), ATTUNE_OK) << attune_error_message();
            EXPECT_EQ(seen().kernels.size(), parts + tables) << tokens;
            // What no cache holds is written past them, though no part is that large.
            const int64_t least = attune_least_streamed_bytes(), expected = tokens * 8 * 4 < least ? least : 0;
            EXPECT_EQ(seen().least_streamed, std::vector<int64_t>(parts, expected)) << tokens;
        }
        const std::vector<float> second = out;
        attune_release_memory();
        ASSERT_EQ(attune_rotary(&args, nullptr), ATTUNE_OK) << attune_error_message();
        EXPECT_EQ(out, second) << tokens;
    }
    attune_release_memory();
}

TEST(Rotary, RefusesBadArguments) {
    std::vector<float> in(120), out(120);
    attune_rotary_args good;
    attune_rotary_args_init(&good);
    good.x = contiguous(in, {5, 4}), good.y = contiguous(out, {5, 4});
    const auto message = [](const attune_rotary_args &args) {
        EXPECT_EQ(attune_rotary(&args, nullptr), ATTUNE_INVALID_ARGUMENT);
        return std::string(attune_error_message());
    };
    attune_rotary_args args = good;
    args.rotary_dim = 3;
    EXPECT_EQ(message(args), "rotary_dim is 3; it must be even and 2 to dim = 4, or 0 for all of dim");
    args.rotary_dim = 6;
    EXPECT_EQ(message(args).find("rotary_dim is 6"), 0u);
    args = good, args.x = contiguous(in, {5, 3}), args.y = contiguous(out, {5, 3});
    EXPECT_EQ(message(args), "dim is 3 and all of it is rotated; it must be even, for channels are rotated in pairs");
    args = good, args.base = 0;
    EXPECT_EQ(message(args), "base is 0; it must be above 0 and finite");
    args = good, args.base = std::nan("");
    EXPECT_EQ(message(args), "base is nan; it must be above 0 and finite");
    const int32_t no_layout = 2; // as C lets one write
    args = good, std::memcpy(&args.layout, &no_layout, sizeof(no_layout));
    EXPECT_EQ(message(args).find("layout is 2; it must be ATTUNE_ROTARY_HALF (0)"), 0u);
    args = good, args.offset = INT32_MAX - 3;
    EXPECT_EQ(message(args),
              "offset is 2147483644; it must be -2147483648 to 2147483643, so that the positions of 5 tokens fit in 32 bits");
    args.offset = INT32_MAX - 4;
    EXPECT_EQ(attune_rotary(&args, nullptr), ATTUNE_OK);
    args = good, args.x.rank = 1;
    EXPECT_EQ(message(args), "x.rank is 1; it must be 2 to 4");
    args = good, args.x.type = ATTUNE_I32;
    EXPECT_EQ(message(args), "x.type is i32; it must be f32, f16 or bf16");
    args = good, args.y.type = ATTUNE_BF16;
    EXPECT_EQ(message(args), "y.type is bf16; it must be f32");
}

TEST(Sinusoidal, PutsArgumentsInTheirPlaces) {
    std::vector<float> out(100, -1);
    attune_sinusoidal_args args;
    attune_sinusoidal_args_init(&args);
    args.y = contiguous(out, {4, 3});
    args.y.stride[0] = 10;
    args.offset = -3, args.base = 1297;
    ASSERT_EQ(attune_sinusoidal(&args, nullptr), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(out[0], 997.0f);
    EXPECT_EQ(out[2], 999.0f);
    EXPECT_EQ(out[3], -1.0f);
    EXPECT_EQ(out[10], 1097.0f);
    args.offset = int64_t{1} << 40;
    EXPECT_EQ(attune_sinusoidal(&args, nullptr), ATTUNE_INVALID_ARGUMENT);
    args.offset = 0, args.y.rank = 3;
    EXPECT_EQ(attune_sinusoidal(&args, nullptr), ATTUNE_INVALID_ARGUMENT);
}

TEST(Registry, ListsTheLinkedKernels) {
    ASSERT_GT(attune_kernel_count(), 0);
    EXPECT_STREQ(attune_kernel_at(0)->name, "attention_flash");
    EXPECT_EQ(attune_kernel_at(-1), nullptr);
    EXPECT_EQ(attune_kernel_at(attune_kernel_count()), nullptr);
}

} // namespace
} // namespace attune::runtime::functions_test
