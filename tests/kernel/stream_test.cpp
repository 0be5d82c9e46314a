// Outputs that no cache would hold are written past the caches: bit for bit what the same rows give a few at a time, and nothing beside
// them.
#include <atomic>
#include <cstring>
#include <string_view>

#include "attune/attune.hpp"
#include "random.h"

// The linker's --wrap sends the kernels' calls here (see CMakeLists.txt).
namespace {
std::atomic<int64_t> streamed, streamed_in_lines_of_avx512;
}
extern "C" {
int attune_stream(char *to, const char *from, int64_t bytes, const char *next);
int __real_attune_stream(char *to, const char *from, int64_t bytes, const char *next);
int __real_attune_stream_avx512(char *to, const char *from, int64_t bytes, const char *next);

int __wrap_attune_stream(char *to, const char *from, int64_t bytes, const char *next) {
    streamed += bytes;
    return __real_attune_stream(to, from, bytes, next);
}
int __wrap_attune_stream_avx512(char *to, const char *from, int64_t bytes, const char *next) {
    streamed += bytes, streamed_in_lines_of_avx512 += bytes;
    return __real_attune_stream_avx512(to, from, bytes, next);
}
}

namespace attune::test {
namespace {

struct StreamCase {
    const char *operation;
    attune_type type;
    int64_t heads, rows, columns, padding; // elements after each row
    int64_t first;                         // elements before all
};

void PrintTo(const StreamCase &c, std::ostream *stream) {
    *stream << c.operation << ' ' << c.heads << " x " << c.rows << " x " << c.columns << " + " << c.padding << " from " << c.first;
}

/** Rows of a case in memory of its own, whose every byte is 0xff at first. */
struct Rows {
    explicit Rows(const StreamCase &c)
        : type(c.type), rows(c.rows), columns(c.columns), stride(c.columns + c.padding), first(c.first), size(type == ATTUNE_F32 ? 4 : 2),
          bytes(static_cast<size_t>((c.heads * rows * stride + first) * size), '\xff') {}

    TensorView heads(int64_t begin, int64_t count) {
        TensorView view(bytes.data() + (begin * rows * stride + first) * size, type, {count, rows, columns});
        view.stride[0] = rows * stride, view.stride[1] = stride;
        return view;
    }

    attune_type type;
    int64_t rows, columns, stride, first, size;
    std::vector<char> bytes;
};

class Streams : public SeededTestWithParam<StreamCase> {
protected:
    Status run(const TensorView &x, const TensorView &y, int32_t threads = 1) const {
        const std::string_view operation = GetParam().operation;
        Call call(threads);
        if (operation == "softmax" || operation == "log_softmax") {
            SoftmaxOptions options;
            options.log = operation == "log_softmax";
            return softmax(x, y, options, &call);
        }
        if (operation == "layer_norm") return layer_norm(x, y, {}, &call);
        if (operation == "rms_norm") return rms_norm(x, y, {}, &call);
        RotaryOptions options;
        options.layout = operation == "rotary_half" ? ATTUNE_ROTARY_HALF : ATTUNE_ROTARY_INTERLEAVED;
        return rotary(x, y, options, &call);
    }
    /** Normal numbers, some thousand of them over and over. */
    Rows normal() {
        Rows x(GetParam());
        std::vector<float> numbers(4099);
        for (float &number : numbers)
            number = static_cast<float>(random.normal());
        const auto count = static_cast<int64_t>(x.bytes.size()) / x.size;
        for (int64_t i = 0; i < count; i++) {
            const char *number = reinterpret_cast<const char *>(&numbers[static_cast<size_t>(i) % numbers.size()]);
            std::memcpy(&x.bytes[static_cast<size_t>(i * x.size)], number + 4 - x.size,
                        static_cast<size_t>(x.size)); // bf16: the upper half
        }
        return x;
    }
    int64_t output_bytes() const {
        const StreamCase &c = GetParam();
        return c.heads * c.rows * c.columns * (c.type == ATTUNE_F32 ? 4 : 2);
    }
};

TEST_P(Streams, GiveTheBitsOfRowsThatStayInTheCaches) {
    const StreamCase &c = GetParam();
    Rows x = normal(), few(c), all(c);
    streamed = streamed_in_lines_of_avx512 = 0;
    const int64_t half = c.heads / 2;
    ASSERT_TRUE(run(x.heads(0, half), few.heads(0, half)).ok());
    ASSERT_TRUE(run(x.heads(half, c.heads - half), few.heads(half, c.heads - half)).ok());
    EXPECT_EQ(streamed, 0);

    const std::string_view cpu = attune_cpu_class();
    for (int32_t threads : {1, 3}) {
        streamed = streamed_in_lines_of_avx512 = 0;
        std::fill(all.bytes.begin(), all.bytes.end(), '\xff');
        ASSERT_TRUE(run(x.heads(0, c.heads), all.heads(0, c.heads), threads).ok());
        EXPECT_EQ(streamed, output_bytes()) << threads << " threads";
        EXPECT_EQ(streamed_in_lines_of_avx512, cpu.substr(0, 6) == "avx512" ? output_bytes() : 0) << cpu;
        EXPECT_TRUE(all.bytes == few.bytes) << threads << " threads"; // what lies between the rows too
    }
}

TEST_P(Streams, GiveTheSameBitsInPlace) {
    const StreamCase &c = GetParam();
    Rows x = normal(), apart(c);
    ASSERT_TRUE(run(x.heads(0, c.heads), apart.heads(0, c.heads)).ok());
    ASSERT_TRUE(run(x.heads(0, c.heads), x.heads(0, c.heads), 2).ok());
    for (int64_t row = 0; row < c.heads * c.rows; row++) {
        const auto at = static_cast<size_t>((row * x.stride + x.first) * x.size), count = static_cast<size_t>(x.columns * x.size);
        ASSERT_EQ(std::memcmp(&x.bytes[at], &apart.bytes[at], count), 0) << "row " << row;
    }
}

// Some 17 MiB each: lengths that are no multiple of a vector, a run or a line, and rows that begin anywhere in a line.
INSTANTIATE_TEST_SUITE_P(
    Large, Streams,
    ::testing::Values(StreamCase{"softmax", ATTUNE_F32, 2, 1024, 2176, 0, 0}, //
                      StreamCase{"softmax", ATTUNE_F32, 2, 1088, 2051, 3, 5}, StreamCase{"log_softmax", ATTUNE_F32, 2, 43, 50257, 0, 1},
                      StreamCase{"layer_norm", ATTUNE_F32, 2, 2304, 1003, 0, 2}, StreamCase{"layer_norm", ATTUNE_F32, 2, 32000, 70, 1, 0},
                      StreamCase{"rms_norm", ATTUNE_F32, 2, 1100, 2048, 64, 0}, StreamCase{"rms_norm", ATTUNE_BF16, 2, 4500, 1000, 7, 3},
                      StreamCase{"rotary_half", ATTUNE_F32, 8, 4400, 126, 2, 3}, StreamCase{"rotary_half", ATTUNE_F32, 8, 4200, 128, 0, 0},
                      StreamCase{"rotary_interleaved", ATTUNE_F32, 8, 5500, 98, 1, 1}),
    [](const auto &info) { return info.param.operation + ("_" + std::to_string(info.param.columns)); });

TEST(StreamsOfTheRuntime, CopyFromAnywhereToAnywhere) {
    std::vector<char> from(512), to(512);
    for (size_t i = 0; i < from.size(); i++)
        from[i] = static_cast<char>(i % 251);
    for (int64_t first : {0, 1, 16, 63})
        for (int64_t bytes = 0; bytes <= 260; bytes++) {
            std::fill(to.begin(), to.end(), '\xff');
            attune_stream(to.data() + 64 + first, from.data() + 3, bytes, nullptr);
            for (int64_t i = 0; i < 512; i++) {
                const int64_t at = i - 64 - first;
                ASSERT_EQ(to[static_cast<size_t>(i)], at >= 0 && at < bytes ? from[static_cast<size_t>(at + 3)] : '\xff')
                    << bytes << " bytes";
            }
        }
}

} // namespace
} // namespace attune::test
