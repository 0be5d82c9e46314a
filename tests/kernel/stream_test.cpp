// Outputs that no cache would hold are written past the caches: bit for bit what the same rows give a few at a time, and nothing beside
// them.
#include <limits>

#include "random.h"
#include "stream_case.h"
#include "stream_watch.h"

namespace attune::test::stream_test {
namespace {

struct Special {
    float f32;
    uint16_t bf16, f16;
};
constexpr Special one = {1.0f, 0x3f80, 0x3c00}, infinity = {std::numeric_limits<float>::infinity(), 0x7f80, 0x7c00},
                  minus_infinity = {-std::numeric_limits<float>::infinity(), 0xff80, 0xfc00},
                  not_a_number = {std::numeric_limits<float>::quiet_NaN(), 0x7fc0, 0x7e00};

class Streams : public SeededTestWithParam<StreamCase> {
protected:
    void SetUp() override { watch.least_streamed = int64_t{16} << 20, watch.pipelines_all_rows = true, watch.turns = turns_of_intels; }
    Status run(const TensorView &x, const TensorView &y, int32_t threads = 1, const TensorView *mask = nullptr) const {
        const std::string_view operation = GetParam().operation;
        Call call(threads);
        if (operation == "softmax" || operation == "log_softmax") {
            SoftmaxOptions options;
            options.log = operation == "log_softmax", options.mask = mask;
            return softmax(x, y, options, &call);
        }
        if (operation == "layer_norm") return layer_norm(x, y, {}, &call);
        if (operation == "rms_norm") return rms_norm(x, y, {}, &call);
        RotaryOptions options;
        options.layout = operation == "rotary_half" ? ATTUNE_ROTARY_HALF : ATTUNE_ROTARY_INTERLEAVED;
        options.rotary_dim = GetParam().turned;
        return rotary(x, y, options, &call);
    }
    /** Normal numbers, some thousand of them over and over. */
    Rows normal() {
        Rows x(GetParam());
        std::vector<float> numbers(4099);
        for (float &number : numbers)
            number = static_cast<float>(random.normal());
        for (int64_t i = 0; i < x.bytes / x.size; i++) {
            const char *number = reinterpret_cast<const char *>(&numbers[static_cast<size_t>(i) % numbers.size()]);
            std::memcpy(x.begin() + i * x.size, number + 4 - x.size, static_cast<size_t>(x.size)); // bf16: the upper half
        }
        return x;
    }
    /** The same, but for rows that are -inf and that have -inf, inf or NaN in them. */
    Rows special() {
        Rows x = normal();
        const auto put = [&](int64_t row, int64_t column, const Special &number) {
            const void *bits =
                x.type == ATTUNE_F32 ? static_cast<const void *>(&number.f32) : (x.type == ATTUNE_BF16 ? &number.bf16 : &number.f16);
            std::memcpy(x.row(0, row) + column * x.size, bits, static_cast<size_t>(x.size));
        };
        for (int64_t column = 0; column < x.columns; column++)
            put(1, column, minus_infinity), put(2, column, column % 3 == 0 ? minus_infinity : one);
        put(3, x.columns - 1, infinity), put(4, x.columns / 2, not_a_number);
        return x;
    }
    bool is_softmax() const { return std::string_view(GetParam().operation).find("softmax") != std::string_view::npos; }
    Rows numbers() { return is_softmax() ? special() : normal(); }
    int64_t output_bytes() const {
        const StreamCase &c = GetParam();
        return c.heads * c.rows * c.columns * static_cast<int64_t>(attune_type_size(c.type));
    }
    /** Of an output that is large enough: short rows of softmax are arithmetic more than memory, but with AVX-512, and with AVX2 in f32.
     * Those that lie apart go by a pipeline alone, and so do short ones of layer norm in 16 bits. */
    int64_t streamed_bytes() const {
        const StreamCase &c = GetParam();
        const bool by_pipeline_alone = std::string_view(c.operation) == "layer_norm" && c.type != ATTUNE_F32 && c.columns <= 1024;
        if (by_pipeline_alone) return is_pipelined() ? output_bytes() : 0;
        const bool by_memory = has_avx512() || (c.type == ATTUNE_F32 && std::string_view(attune_cpu_class()) == "avx2");
        const bool short_ones = (by_memory && c.padding == 0) || is_pipelined();
        return !is_softmax() || c.columns >= 2048 || short_ones ? output_bytes() : 0;
    }
    static constexpr int64_t longest_row_at_once = 256, step = 128;
    bool is_norm() const { return std::string_view(GetParam().operation).find("norm") != std::string_view::npos; }
    /** Rows of norms, and long ones of softmax, wherever they lie; short ones of softmax that follow one another or begin a line. */
    bool is_pipelined() const {
        const StreamCase &c = GetParam();
        const auto size = static_cast<int64_t>(attune_type_size(c.type));
        const bool begin_lines = c.first * size % 64 == 0 && (c.columns + c.padding) * size % 64 == 0;
        const bool are_seen = is_norm() || c.columns > longest_row_at_once || c.padding == 0 || begin_lines;
        const bool by_steps = is_norm() || c.columns > longest_row_at_once,
                   whole_steps = has_avx512() || size == 4 || c.columns % step == 0;
        const int64_t least_bytes = is_norm() && !has_avx512() ? 512 : 256;
        return (is_softmax() || is_norm()) && (watch.pipelines_all_rows || gains_on_amd()) && has_avx2() && are_seen &&
               c.columns * size >= least_bytes && c.columns <= 65536 && (!by_steps || whole_steps);
    }
    /** Rows that are pipelined where the runtime doesn't say that all are. */
    bool gains_on_amd() const {
        const StreamCase &c = GetParam();
        const int64_t bytes = c.columns * static_cast<int64_t>(attune_type_size(c.type));
        if (is_norm()) return c.type == ATTUNE_F32 ? bytes >= 512 && bytes <= 2560 : has_avx512() && bytes >= 1024;
        return c.columns >= 256 && (c.type == ATTUNE_F32 ? bytes != 4096 && bytes != 8192 : has_avx512());
    }
    /** What a pipeline sends on are rows, or shorter steps of them than those that go without. */
    void expect_pipelined() const {
        const StreamCase &c = GetParam();
        const int64_t steps = is_norm() || c.columns > longest_row_at_once ? (c.columns + step - 1) / step : 1;
        if (is_pipelined()) {
            EXPECT_EQ(watch.calls, c.heads * c.rows * steps);
        } else if ((is_softmax() || (is_norm() && c.padding == 0)) && has_avx512()) {
            EXPECT_LT(watch.calls, c.heads * c.rows * steps);
        }
    }
};

class MaskedStreams : public Streams {};

TEST_P(Streams, GiveTheBitsOfRowsThatStayInTheCaches) {
    const StreamCase &c = GetParam();
    Rows x = numbers(), few(c), all(c);
    watch.forget();
    const int64_t half = c.heads / 2;
    ASSERT_TRUE(run(x.heads(0, half), few.heads(0, half)).ok());
    ASSERT_TRUE(run(x.heads(half, c.heads - half), few.heads(half, c.heads - half)).ok());
    EXPECT_EQ(watch.bytes, 0);

    for (const auto &[threads, of_cpu] : {std::pair(1, turns_of_intels), {3, turns_of_intels}, {2, turns_of_others}}) {
        watch.turns = of_cpu;
        watch.forget();
        std::fill(all.lines.begin(), all.lines.end(), untouched);
        ASSERT_TRUE(run(x.heads(0, c.heads), all.heads(0, c.heads), threads).ok());
        EXPECT_EQ(watch.bytes, streamed_bytes()) << threads << " threads";
        EXPECT_EQ(watch.bytes_in_lines_of_avx512, has_avx512() ? streamed_bytes() : 0);
        expect_pipelined();
        EXPECT_TRUE(all == few) << threads << " threads"; // what lies between the rows too
    }
}

// Of each element, or of each head's columns: then each head is a call of the kernel.
TEST_P(MaskedStreams, GiveTheBitsOfRowsThatStayInTheCaches) {
    const StreamCase &c = GetParam();
    Rows x = numbers(), few(c), all(c);
    for (const int64_t mask_rows : {c.rows, int64_t{1}}) {
        std::vector<uint8_t> counts(static_cast<size_t>(c.heads * mask_rows * c.columns));
        for (uint8_t &element : counts)
            element = random.chance(0.8) ? 1 : 0;
        const auto mask = [&](int64_t head, int64_t heads) {
            return TensorView(&counts[static_cast<size_t>(head * mask_rows * c.columns)], ATTUNE_BOOL, {heads, mask_rows, c.columns});
        };
        watch.least_streamed = output_bytes(), watch.bytes = 0;
        for (int64_t head = 0; head < c.heads; head++) {
            const TensorView of_head = mask(head, 1);
            ASSERT_TRUE(run(x.heads(head, 1), few.heads(head, 1), 1, &of_head).ok());
        }
        EXPECT_EQ(watch.bytes, 0);

        watch.least_streamed = output_bytes() / (mask_rows == 1 ? c.heads : 1), watch.bytes = watch.calls = 0;
        const TensorView of_all = mask(0, c.heads);
        ASSERT_TRUE(run(x.heads(0, c.heads), all.heads(0, c.heads), 3, &of_all).ok());
        EXPECT_EQ(watch.bytes, streamed_bytes()) << mask_rows << " rows of the mask";
        expect_pipelined();
        EXPECT_TRUE(all == few) << mask_rows << " rows of the mask";
    }
}

// With the bits of rows that don't go through a pipeline.
TEST_P(Streams, ArePipelinedWhereTheRuntimeSays) {
    Rows x = numbers(), piped(GetParam()), plain(GetParam());
    for (Rows *y : {&piped, &plain}) {
        watch.pipelines_all_rows = y == &piped, watch.calls = 0;
        ASSERT_TRUE(run(x.heads(0, GetParam().heads), y->heads(0, GetParam().heads), 2).ok());
        expect_pipelined();
    }
    EXPECT_TRUE(piped == plain);
}

TEST_P(Streams, BeginWhereTheRuntimeSays) {
    Rows x = normal(), y(GetParam());
    for (int64_t more : {1, 0}) {
        watch.bytes = 0, watch.least_streamed = output_bytes() + more;
        ASSERT_TRUE(run(x.heads(0, GetParam().heads), y.heads(0, GetParam().heads), 2).ok());
        EXPECT_EQ(watch.bytes, more > 0 ? 0 : streamed_bytes());
    }
}

TEST_P(Streams, GiveTheSameBitsInPlace) {
    const StreamCase &c = GetParam();
    Rows x = normal(), apart(c);
    ASSERT_TRUE(run(x.heads(0, c.heads), apart.heads(0, c.heads)).ok());
    ASSERT_TRUE(run(x.heads(0, c.heads), x.heads(0, c.heads), 2).ok());
    for (int64_t head = 0; head < c.heads; head++)
        for (int64_t row = 0; row < c.rows; row++)
            ASSERT_EQ(std::memcmp(x.row(head, row), apart.row(head, row), static_cast<size_t>(x.columns * x.size)), 0)
                << head << ", " << row;
}

// Some 17 MiB each: lengths that are no multiple of a vector, a run or a line, and rows that begin anywhere in a line. In order: operation,
// type, heads, rows, columns, elements between rows, elements before all, and of rotary embedding whether rows come first, and how many
// columns are turned.
const auto softmax_cases = ::testing::Values(
    StreamCase{"softmax", ATTUNE_F32, 2, 1024, 2176, 0, 0}, StreamCase{"softmax", ATTUNE_F32, 2, 1088, 2051, 3, 5},
    StreamCase{"log_softmax", ATTUNE_F32, 2, 43, 50257, 0, 1}, StreamCase{"softmax", ATTUNE_BF16, 2, 1088, 4099, 3, 5},
    StreamCase{"log_softmax", ATTUNE_F16, 2, 90, 50261, 0, 1}, StreamCase{"softmax", ATTUNE_F32, 2, 30000, 77, 0, 3},
    StreamCase{"softmax", ATTUNE_F32, 2, 37000, 64, 0, 0}, StreamCase{"softmax", ATTUNE_BF16, 2, 4700, 1000, 0, 1},
    StreamCase{"log_softmax", ATTUNE_F32, 2, 330000, 7, 0, 0}, StreamCase{"log_softmax", ATTUNE_F16, 2, 13000, 333, 0, 5},
    StreamCase{"softmax", ATTUNE_F32, 2, 1140, 2047, 0, 2}, StreamCase{"softmax", ATTUNE_F32, 2, 7100, 320, 0, 0},
    StreamCase{"softmax", ATTUNE_F32, 2, 4200, 512, 32, 0}, StreamCase{"softmax", ATTUNE_BF16, 2, 2950, 1504, 0, 0},
    StreamCase{"softmax", ATTUNE_F32, 2, 16500, 128, 0, 0}, StreamCase{"softmax", ATTUNE_F32, 2, 22001, 96, 32, 0},
    StreamCase{"softmax", ATTUNE_BF16, 2, 20003, 224, 0, 0}, StreamCase{"softmax", ATTUNE_F16, 2, 33001, 160, 0, 0},
    StreamCase{"softmax", ATTUNE_F16, 2, 2150, 2112, 0, 0}, StreamCase{"log_softmax", ATTUNE_F32, 2, 22003, 96, 0, 0},
    StreamCase{"log_softmax", ATTUNE_F32, 2, 1021, 2080, 32, 0}, StreamCase{"log_softmax", ATTUNE_BF16, 2, 20003, 224, 0, 0},
    StreamCase{"log_softmax", ATTUNE_F16, 2, 2150, 2112, 0, 0}, StreamCase{"softmax", ATTUNE_F32, 2, 11000, 197, 0, 4},
    StreamCase{"softmax", ATTUNE_F32, 2, 2200, 1020, 0, 0}, StreamCase{"softmax", ATTUNE_BF16, 2, 17001, 250, 0, 7},
    StreamCase{"log_softmax", ATTUNE_F16, 2, 7003, 604, 5, 2}, StreamCase{"softmax", ATTUNE_F32, 2, 21001, 101, 3, 1});
const auto other_cases = ::testing::Values(
    StreamCase{"layer_norm", ATTUNE_F32, 2, 2304, 1003, 0, 2}, StreamCase{"layer_norm", ATTUNE_F32, 2, 32000, 70, 1, 0},
    StreamCase{"layer_norm", ATTUNE_F32, 2, 32000, 72, 0, 7}, StreamCase{"rms_norm", ATTUNE_BF16, 2, 46000, 100, 0, 3},
    StreamCase{"rms_norm", ATTUNE_BF16, 2, 4700, 1024, 0, 0}, StreamCase{"layer_norm", ATTUNE_BF16, 2, 2100, 2176, 0, 1},
    StreamCase{"rms_norm", ATTUNE_F32, 2, 1100, 2048, 64, 0}, StreamCase{"rms_norm", ATTUNE_BF16, 2, 4500, 1000, 7, 3},
    StreamCase{"layer_norm", ATTUNE_F32, 2, 1040, 2080, 32, 0}, StreamCase{"layer_norm", ATTUNE_BF16, 2, 34500, 128, 0, 0},
    StreamCase{"rms_norm", ATTUNE_F32, 2, 33, 65537, 0, 1}, StreamCase{"layer_norm", ATTUNE_F32, 2, 33, 65536, 0, 0},
    StreamCase{"rms_norm", ATTUNE_F32, 2, 37000, 63, 0, 0}, StreamCase{"rms_norm", ATTUNE_BF16, 2, 1, 4500001, 0, 2},
    StreamCase{"rotary_half", ATTUNE_F32, 9, 4301, 128, 0, 4}, StreamCase{"rotary_half", ATTUNE_F32, 8, 4400, 126, 2, 3},
    StreamCase{"rotary_half", ATTUNE_F32, 8, 4200, 128, 0, 0}, StreamCase{"rotary_interleaved", ATTUNE_F32, 8, 5500, 98, 1, 1},
    StreamCase{"rotary_half", ATTUNE_BF16, 16, 4300, 130, 3, 1}, StreamCase{"rotary_interleaved", ATTUNE_F16, 16, 5800, 94, 0, 5},
    StreamCase{"rotary_half", ATTUNE_F32, 7, 5000, 128, 0, 16}, StreamCase{"rotary_half", ATTUNE_F32, 5, 4500, 200, 0, 0},
    StreamCase{"rotary_interleaved", ATTUNE_BF16, 13, 8520, 80, 0, 0}, StreamCase{"rotary_half", ATTUNE_F16, 70, 1000, 128, 0, 0},
    StreamCase{"rotary_half", ATTUNE_F32, 8, 4400, 130, 0, 3}, StreamCase{"rotary_half", ATTUNE_BF16, 26, 4300, 80, 0, 1},
    StreamCase{"rotary_half", ATTUNE_F32, 71, 501, 128, 0, 0}, StreamCase{"rotary_half", ATTUNE_BF16, 350, 301, 86, 0, 0},
    StreamCase{"rotary_half", ATTUNE_F32, 5, 3500, 256, 0, 0}, StreamCase{"rotary_half", ATTUNE_F32, 9, 3800, 128, 0, 0, true},
    StreamCase{"rotary_interleaved", ATTUNE_F32, 9, 3800, 132, 0, 1, true},
    StreamCase{"rotary_half", ATTUNE_BF16, 11, 10001, 80, 0, 7, true}, StreamCase{"rotary_half", ATTUNE_F32, 8, 4203, 136, 8, 0, true},
    StreamCase{"rotary_half", ATTUNE_F32, 8, 4201, 128, 0, 0, false, 64},
    StreamCase{"rotary_half", ATTUNE_BF16, 14, 4205, 144, 0, 3, false, 64},
    StreamCase{"rotary_half", ATTUNE_F16, 350, 303, 84, 0, 0, false, 32},
    StreamCase{"rotary_interleaved", ATTUNE_F32, 8, 4202, 133, 1, 2, false, 100},
    StreamCase{"rotary_interleaved", ATTUNE_F32, 9, 3801, 128, 0, 0, true, 32});
const auto name_of_case = [](const ::testing::TestParamInfo<StreamCase> &info) {
    const StreamCase &c = info.param;
    return c.operation + ("_" + (c.turned > 0 ? std::to_string(c.turned) + "_of_" : "") + std::to_string(c.columns)) +
           (c.rows_first   ? "_rows_first"
            : c.heads != 2 ? "_heads_" + std::to_string(c.heads)
                           : "");
};
INSTANTIATE_TEST_SUITE_P(Large, Streams, softmax_cases, name_of_case);
INSTANTIATE_TEST_SUITE_P(LargeOthers, Streams, other_cases, name_of_case);
INSTANTIATE_TEST_SUITE_P(Large, MaskedStreams, softmax_cases, name_of_case);

} // namespace
} // namespace attune::test::stream_test
