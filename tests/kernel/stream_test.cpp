// Outputs that no cache would hold are written past the caches: bit for bit what the same rows give a few at a time, and nothing beside
// them.
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>

#include "attune/attune.hpp"
#include "random.h"

// The linker's --wrap sends the kernels' calls here (see CMakeLists.txt).
namespace {
std::atomic<int64_t> streamed, streamed_in_lines_of_avx512, calls;
std::atomic<int64_t> least_streamed; // whatever the machine's caches hold
int32_t bytes_ahead = 8192;          // whatever the machine is
struct Turns {
    int32_t heads, parts_ahead;
};
constexpr Turns intels = {8, 1}, others = {4, 0};
Turns turns = intels;
bool pipelines_rows = true;
std::vector<const char *> *places; // where to, if somebody asks, of one thread
std::vector<const char *> *asked;  // and what for meanwhile
std::set<const char *> *buffers;   // and where from

void note(const char *to, const char *from, int64_t bytes, const char *next) {
    if (bytes == 0) return;
    streamed += bytes, ++calls;
    if (places) places->push_back(to);
    if (asked) asked->push_back(next);
    if (buffers) buffers->insert(from);
}
} // namespace
extern "C" {
int attune_stream(char *to, char *from, int64_t bytes, const char *next, int next_is_far);
int attune_stream_avx512(char *to, char *from, int64_t bytes, const char *next, int next_is_far);
int attune_stream_halves_avx512(char *to, char *from, int64_t bytes, const char *next, int next_is_far);
int attune_stream_begin(char *from);
int attune_stream_end(char *from);
decltype(attune_stream) __real_attune_stream, __real_attune_stream_avx512, __real_attune_stream_halves_avx512;

int64_t __real_attune_least_streamed_bytes();
int64_t __wrap_attune_least_streamed_bytes() { // all of what is part of a large output
    return __real_attune_least_streamed_bytes() == 0 ? 0 : least_streamed.load();
}
int32_t __wrap_attune_streamed_bytes_ahead() { return bytes_ahead; }
int32_t __wrap_attune_streamed_heads_in_turn() { return turns.heads; }
int32_t __wrap_attune_streamed_parts_ahead() { return turns.parts_ahead; }
int32_t __wrap_attune_pipelines_rows() { return pipelines_rows ? 1 : 0; }
int __wrap_attune_stream(char *to, char *from, int64_t bytes, const char *next, int next_is_far) {
    note(to, from, bytes, next);
    return __real_attune_stream(to, from, bytes, next, next_is_far);
}
int __wrap_attune_stream_avx512(char *to, char *from, int64_t bytes, const char *next, int next_is_far) {
    streamed_in_lines_of_avx512 += bytes;
    note(to, from, bytes, next);
    return __real_attune_stream_avx512(to, from, bytes, next, next_is_far);
}
int __wrap_attune_stream_halves_avx512(char *to, char *from, int64_t bytes, const char *next, int next_is_far) {
    streamed_in_lines_of_avx512 += bytes;
    note(to, from, bytes, next);
    return __real_attune_stream_halves_avx512(to, from, bytes, next, next_is_far);
}
}

namespace attune::test {
namespace {

struct StreamCase {
    const char *operation;
    attune_type type;
    int64_t heads, rows, columns, padding; // elements after each row; short rows without any go together
    int64_t first;                         // elements before all
    bool rows_first = false;               // row by row of all heads, rather than head by head
    int64_t turned = 0;                    // by rotary embedding, of the columns; 0: all
};

void PrintTo(const StreamCase &c, std::ostream *stream) {
    *stream << c.operation << ' ' << c.heads << " x " << c.rows << " x " << c.columns << " + " << c.padding << " from " << c.first
            << (c.rows_first ? ", rows first" : "") << (c.turned > 0 ? ", of which turn " + std::to_string(c.turned) : "");
}

struct alignas(64) Line {
    std::array<char, 64> bytes;
};
constexpr Line untouched = [] {
    Line line = {};
    for (char &byte : line.bytes)
        byte = '\xff';
    return line;
}();

/** Rows of a case in memory of its own that begins a line, whose every byte is 0xff at first. */
struct Rows {
    explicit Rows(const StreamCase &c)
        : type(c.type), rows(c.rows), columns(c.columns), of_head(c.columns + c.padding), of_row(of_head), first(c.first),
          size(type == ATTUNE_F32 ? 4 : 2), bytes((c.heads * rows * of_row + first) * size),
          lines(static_cast<size_t>(bytes / 64 + 1), untouched) {
        (c.rows_first ? of_row *= c.heads : of_head *= rows);
    }

    char *begin() { return lines.front().bytes.data(); }
    char *row(int64_t head, int64_t row) { return begin() + (head * of_head + row * of_row + first) * size; }
    TensorView heads(int64_t from, int64_t count) {
        TensorView view(row(from, 0), type, {count, rows, columns});
        view.stride[0] = of_head, view.stride[1] = of_row;
        return view;
    }
    bool operator==(const Rows &other) const { return std::memcmp(lines.data(), other.lines.data(), lines.size() * sizeof(Line)) == 0; }

    attune_type type;
    int64_t rows, columns, of_head, of_row, first, size, bytes; // strides of heads and rows
    std::vector<Line> lines;
};

struct Special {
    float f32;
    uint16_t bf16, f16;
};
constexpr Special one = {1.0f, 0x3f80, 0x3c00}, infinity = {std::numeric_limits<float>::infinity(), 0x7f80, 0x7c00},
                  minus_infinity = {-std::numeric_limits<float>::infinity(), 0xff80, 0xfc00},
                  not_a_number = {std::numeric_limits<float>::quiet_NaN(), 0x7fc0, 0x7e00};

bool has_avx512() { return std::string_view(attune_cpu_class()).substr(0, 6) == "avx512"; }
bool has_avx2() { return has_avx512() || std::string_view(attune_cpu_class()) == "avx2"; }

class Streams : public SeededTestWithParam<StreamCase> {
protected:
    void SetUp() override { least_streamed = int64_t{16} << 20, pipelines_rows = true, turns = intels; }
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
        return c.heads * c.rows * c.columns * (c.type == ATTUNE_F32 ? 4 : 2);
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
        const int64_t size = c.type == ATTUNE_F32 ? 4 : 2;
        const bool begin_lines = c.first * size % 64 == 0 && (c.columns + c.padding) * size % 64 == 0;
        const bool are_seen = is_norm() || c.columns > longest_row_at_once || c.padding == 0 || begin_lines;
        const bool by_steps = is_norm() || c.columns > longest_row_at_once,
                   whole_steps = has_avx512() || size == 4 || c.columns % step == 0;
        const int64_t least_bytes = is_norm() && !has_avx512() ? 512 : 256;
        return (is_softmax() || is_norm()) && pipelines_rows && has_avx2() && are_seen && c.columns * size >= least_bytes &&
               c.columns <= 65536 && (!by_steps || whole_steps);
    }
    /** What a pipeline sends on are rows, or shorter steps of them than those that go without. */
    void expect_pipelined() const {
        const StreamCase &c = GetParam();
        const int64_t steps = is_norm() || c.columns > longest_row_at_once ? (c.columns + step - 1) / step : 1;
        if (is_pipelined()) {
            EXPECT_EQ(calls, c.heads * c.rows * steps);
        } else if ((is_softmax() || (is_norm() && c.padding == 0)) && has_avx512()) {
            EXPECT_LT(calls, c.heads * c.rows * steps);
        }
    }
};

class MaskedStreams : public Streams {};

TEST_P(Streams, GiveTheBitsOfRowsThatStayInTheCaches) {
    const StreamCase &c = GetParam();
    Rows x = numbers(), few(c), all(c);
    streamed = streamed_in_lines_of_avx512 = 0;
    const int64_t half = c.heads / 2;
    ASSERT_TRUE(run(x.heads(0, half), few.heads(0, half)).ok());
    ASSERT_TRUE(run(x.heads(half, c.heads - half), few.heads(half, c.heads - half)).ok());
    EXPECT_EQ(streamed, 0);

    for (const auto &[threads, of_cpu] : {std::pair(1, intels), {3, intels}, {2, others}}) {
        turns = of_cpu;
        streamed = streamed_in_lines_of_avx512 = calls = 0;
        std::fill(all.lines.begin(), all.lines.end(), untouched);
        ASSERT_TRUE(run(x.heads(0, c.heads), all.heads(0, c.heads), threads).ok());
        EXPECT_EQ(streamed, streamed_bytes()) << threads << " threads";
        EXPECT_EQ(streamed_in_lines_of_avx512, has_avx512() ? streamed_bytes() : 0);
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
        least_streamed = output_bytes(), streamed = 0;
        for (int64_t head = 0; head < c.heads; head++) {
            const TensorView of_head = mask(head, 1);
            ASSERT_TRUE(run(x.heads(head, 1), few.heads(head, 1), 1, &of_head).ok());
        }
        EXPECT_EQ(streamed, 0);

        least_streamed = output_bytes() / (mask_rows == 1 ? c.heads : 1), streamed = calls = 0;
        const TensorView of_all = mask(0, c.heads);
        ASSERT_TRUE(run(x.heads(0, c.heads), all.heads(0, c.heads), 3, &of_all).ok());
        EXPECT_EQ(streamed, streamed_bytes()) << mask_rows << " rows of the mask";
        expect_pipelined();
        EXPECT_TRUE(all == few) << mask_rows << " rows of the mask";
    }
}

// With the bits of rows that don't go through a pipeline.
TEST_P(Streams, ArePipelinedWhereTheRuntimeSays) {
    Rows x = numbers(), piped(GetParam()), plain(GetParam());
    for (Rows *y : {&piped, &plain}) {
        pipelines_rows = y == &piped, calls = 0;
        ASSERT_TRUE(run(x.heads(0, GetParam().heads), y->heads(0, GetParam().heads), 2).ok());
        expect_pipelined();
    }
    EXPECT_TRUE(piped == plain);
}

TEST_P(Streams, BeginWhereTheRuntimeSays) {
    Rows x = normal(), y(GetParam());
    for (int64_t more : {1, 0}) {
        streamed = 0, least_streamed = output_bytes() + more;
        ASSERT_TRUE(run(x.heads(0, GetParam().heads), y.heads(0, GetParam().heads), 2).ok());
        EXPECT_EQ(streamed, more > 0 ? 0 : streamed_bytes());
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

// Some 17 MiB each: lengths that are no multiple of a vector, a run or a line, and rows that begin anywhere in a line.
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

/** Rows that rotary embedding of f32 streams, counted from the first of y on, and which of x it asks for meanwhile. */
struct StreamedRows {
    static constexpr int64_t none = -1;
    std::vector<int64_t> written, asked_for;
};
StreamedRows streamed_rows(int64_t heads, int64_t rows, int64_t columns, int64_t first, int64_t least = 0) {
    Rows x({"rotary_half", ATTUNE_F32, heads, rows, columns, 0, first});
    std::fill(x.lines.begin(), x.lines.end(), Line{});
    Rows y = x;
    std::vector<const char *> to, next;
    least_streamed = least, places = &to, asked = &next;
    Call call(1);
    EXPECT_TRUE(rotary(x.heads(0, heads), y.heads(0, heads), {}, &call).ok());
    places = asked = nullptr;
    StreamedRows found;
    for (const char *place : to)
        found.written.push_back((place - y.row(0, 0)) / (columns * 4));
    for (const char *place : next)
        found.asked_for.push_back(place ? (place - x.row(0, 0)) / (columns * 4) : StreamedRows::none);
    return found;
}

class StreamedHeads : public ::testing::Test {
protected:
    void SetUp() override { turns = others; }
};

// Each row of the table is read once for a few of them.
TEST_F(StreamedHeads, OfManyTokensTakeTurns) {
    for (int32_t in_turn : {4, 7}) {
        turns.heads = in_turn;
        std::vector<int64_t> expected; // by 256 tokens, which the table stays near for; of four heads and of three, or of seven
        for (int64_t token : {0, 256})
            for (int64_t head = 0; head < 7; head += in_turn)
                for (int64_t i = 0; i < 256; i++)
                    for (int64_t turn = head; turn < std::min<int64_t>(head + in_turn, 7); turn++)
                        expected.push_back(turn * 512 + token + i);
        EXPECT_EQ(streamed_rows(7, 512, 128, 0).written, expected) << in_turn;
    }
}

TEST_F(StreamedHeads, AskForAsManyPartsAheadAsTheRuntimeSays) {
    for (int32_t ahead : {0, 1, 3}) {
        turns.parts_ahead = ahead;
        const StreamedRows rows = streamed_rows(7, 512, 128, 0);
        ASSERT_EQ(rows.asked_for.size(), rows.written.size());
        for (size_t i = 0; i < rows.written.size(); i++)
            ASSERT_EQ(rows.asked_for[i], ahead > 0 ? rows.written[i] + ahead : StreamedRows::none) << i;
    }
}

// Their halves are seen by the hardware only one head after the other, unless they are asked for.
TEST_F(StreamedHeads, OfLongRowsTakeTurnsWhereTheyAreAskedFor) {
    for (int32_t ahead : {0, 1}) {
        turns.parts_ahead = ahead;
        EXPECT_EQ(streamed_rows(2, 512, 256, 0).written[1], ahead > 0 ? 512 : 1);
    }
}

TEST_F(StreamedHeads, OfMoreTokensThanATableHasGoInEqualShares) {
    const int64_t tokens = 8200, least = 8 * (tokens / 3) * 128 * 4; // a table has 8192
    EXPECT_EQ(streamed_rows(8, tokens, 128, 0, least).written.size(), 8 * tokens);
}

// What a part leaves of a line is written with the next.
TEST_F(StreamedHeads, ThatBeginWithinALineFollowOneAnother) {
    const std::vector<int64_t> rows = streamed_rows(3, 600, 128, 4).written;
    ASSERT_EQ(rows.size(), 3 * 600);
    for (int64_t i = 0; i < 3 * 600; i++)
        ASSERT_EQ(rows[static_cast<size_t>(i)], i);
}

// So that what each leaves of a line goes on with its next part. What begins a line leaves none.
TEST_F(StreamedHeads, ThatTakeTurnsWithinLinesHaveABufferEach) {
    turns = intels;
    for (int64_t first : {0, 4, 16}) { // elements
        std::set<const char *> of_heads;
        buffers = &of_heads;
        EXPECT_EQ(streamed_rows(7, 600, 128, first).written[1], 600);
        buffers = nullptr;
        EXPECT_EQ(of_heads.size(), first % 16 == 0 ? 1 : 7) << first;
    }
}

// By a mask of each item's columns: no item would be streamed by itself.
TEST(StreamedSlices, AreJudgedAsAWhole) {
    const StreamCase c = {"softmax", ATTUNE_F32, 5, 2048, 1024, 0, 0}; // 40 MiB
    if (!has_avx512()) GTEST_SKIP() << "short rows of softmax are streamed with AVX-512";
    Rows x(c), y(c);
    std::fill(x.lines.begin(), x.lines.end(), Line{});
    std::vector<uint8_t> counts(static_cast<size_t>(c.heads * c.columns), 1);
    least_streamed = int64_t{1} << 40;
    for (int64_t heads : {int64_t{2}, c.heads}) {
        const TensorView mask(counts.data(), ATTUNE_BOOL, {heads, 1, c.columns});
        SoftmaxOptions options;
        options.mask = &mask, streamed = 0;
        ASSERT_TRUE(softmax(x.heads(0, heads), y.heads(0, heads), options).ok());
        EXPECT_EQ(streamed, heads == c.heads ? x.bytes : 0) << heads << " items";
    }
}

class StreamedNorms : public ::testing::Test {
protected:
    static constexpr int64_t bytes_per_row = 4096;
    void SetUp() override { least_streamed = 0; }
    void TearDown() override { bytes_ahead = 8192, pipelines_rows = true; }
    /** How far from the first row on lies what is asked for, of 64 rows. */
    static std::vector<int64_t> asked_for(Status (*norm)(const TensorView &, const TensorView &, const NormOptions &, attune_call *)) {
        Rows x({"", ATTUNE_F32, 1, 64, bytes_per_row / 4, 0, 0});
        std::fill(x.lines.begin(), x.lines.end(), Line{});
        Rows y = x;
        std::vector<const char *> next;
        asked = &next;
        Call call(1);
        EXPECT_TRUE(norm(x.heads(0, 1), y.heads(0, 1), {}, &call).ok());
        asked = nullptr;
        std::vector<int64_t> places;
        for (const char *place : next)
            places.push_back(place - x.begin());
        return places;
    }
};

TEST_F(StreamedNorms, AskForWhatLiesAsFarAheadAsTheRuntimeSays) {
    pipelines_rows = false;
    for (const int32_t ahead : {4096, 8192, 16384}) {
        bytes_ahead = ahead;
        const std::vector<int64_t> places = asked_for(rms_norm);
        ASSERT_EQ(places.size(), 64 * 4);        // runs of 1 KiB
        for (size_t run = 0; run < 4 * 8; run++) // of the first rows of a task
            ASSERT_EQ(places[run], ahead + static_cast<int64_t>(run) * 1024);
    }
}

// A row that is written was read one row before, or two where layer norm's squares come between.
TEST_F(StreamedNorms, AskForAsMuchMoreAsTheirPipelineHasRead) {
    if (!has_avx2()) GTEST_SKIP() << "rows are pipelined in vectors of AVX2";
    for (const int32_t ahead : {4096, 8192, 16384}) {
        bytes_ahead = ahead;
        for (const auto &[norm, rows_read] : {std::pair(rms_norm, 1), {layer_norm, 2}}) {
            const std::vector<int64_t> places = asked_for(norm);
            ASSERT_EQ(places.size(), 64 * 8); // steps of 512 bytes
            for (size_t step = 0; step < 8 * 8; step++)
                ASSERT_EQ(places[step], ahead + rows_read * bytes_per_row + static_cast<int64_t>(step) * 512) << rows_read;
        }
    }
}

/** What a stream is tested with: parts of a row each, to places in memory of its own, all of which is 0xff but what was written. */
class StreamOfTheRuntime : public ::testing::TestWithParam<decltype(attune_stream) *> {
protected:
    static constexpr size_t line = 64, most = 512;
    void SetUp() override {
        if (GetParam() != attune_stream && !has_avx512()) GTEST_SKIP() << "the function is for AVX-512";
        attune_stream_begin(buffer());
    }
    char *buffer() { return lines.data()->bytes.data() + 2 * line; }
    /** Numbers that go on from part to part, `bytes` of them, to `place`. */
    void stream(size_t place, size_t bytes) {
        for (size_t i = 0; i < bytes; i++)
            expected[place + i] = buffer()[i] = static_cast<char>(next++ % 251);
        GetParam()(to() + place, buffer(), static_cast<int64_t>(bytes), next % 2 == 0 ? buffer() : nullptr, next % 3 == 0);
    }
    ::testing::AssertionResult ends() {
        attune_stream_end(buffer());
        for (size_t i = 0; i < expected.size(); i++)
            if (to()[i] != expected[i]) return ::testing::AssertionFailure() << "byte " << i << " differs";
        return ::testing::AssertionSuccess();
    }
    void begin_again() {
        std::fill(output.begin(), output.end(), untouched);
        std::fill(expected.begin(), expected.end(), '\xff');
        attune_stream_begin(buffer());
    }

private:
    size_t next = 0;
    std::vector<Line> lines = std::vector<Line>(2 + most / line + 1), output = std::vector<Line>(64, untouched);
    std::vector<char> expected = std::vector<char>(64 * line, '\xff');
    char *to() { return output.data()->bytes.data(); }
};

TEST_P(StreamOfTheRuntime, CopiesRowsToAnywhere) {
    for (size_t first : {0, 2, 16, 34, 62})
        for (size_t bytes = 0; bytes <= 400; bytes += 2) {
            begin_again();
            stream(first, bytes);
            ASSERT_TRUE(ends()) << bytes << " bytes, from " << first;
        }
}

// Parts of any length, short ones within a line too, of which the next goes on.
TEST_P(StreamOfTheRuntime, GoesOnWhereItEnded) {
    for (size_t first : {0, 2, 20, 34, 62})
        for (size_t bytes : {2, 6, 30, 64, 66, 100, 128, 162, 500}) {
            begin_again();
            size_t place = first;
            for (int part = 0; part < 6; part++, place += bytes)
                stream(place, bytes);
            ASSERT_TRUE(ends()) << "parts of " << bytes << " bytes, from " << first;
        }
}

TEST_P(StreamOfTheRuntime, BeginsAnewElsewhere) {
    for (size_t gap : {0, 2, 32, 64, 126})
        for (size_t first : {0, 10, 48})
            for (size_t bytes : {4, 60, 64, 130, 256}) {
                begin_again();
                size_t place = first;
                for (int row = 0; row < 5; row++, place += gap) // of two parts each
                    for (int part = 0; part < 2; part++, place += bytes)
                        stream(place, bytes);
                ASSERT_TRUE(ends()) << "parts of " << bytes << " bytes, from " << first << ", " << gap << " between rows";
            }
}

// Backwards, so that none goes on, and lines are shared with what is written later.
TEST_P(StreamOfTheRuntime, LeavesWhatItSharesLinesWith) {
    for (size_t bytes : {2, 30, 64, 98, 160}) {
        begin_again();
        for (size_t place = 6 * bytes + 10; place > 10 + bytes; place -= bytes)
            stream(place - bytes, bytes);
        ASSERT_TRUE(ends()) << "parts of " << bytes << " bytes";
    }
}

constexpr std::array stream_names = {"sse2", "avx512", "halves_avx512"};
INSTANTIATE_TEST_SUITE_P(Functions, StreamOfTheRuntime, ::testing::Values(attune_stream, attune_stream_avx512, attune_stream_halves_avx512),
                         [](const auto &info) { return stream_names[info.index]; });

} // namespace
} // namespace attune::test
