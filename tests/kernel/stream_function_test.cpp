// The runtime's functions that write past the caches.
#include <array>

#include <gtest/gtest.h>

#include "stream_case.h"
#include "stream_watch.h"

namespace attune::test::stream_function_test {
namespace {

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
} // namespace attune::test::stream_function_test
