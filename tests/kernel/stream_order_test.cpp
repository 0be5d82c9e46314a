// In which order what goes past the caches is written, and what is asked for meanwhile.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "stream_case.h"
#include "stream_watch.h"

namespace attune::test::stream_order_test {
namespace {

/** Rows that rotary embedding of f32 streams, counted from the first of y on, and which of x it asks for meanwhile. */
struct StreamedRows {
    static constexpr int64_t none = -1;
    std::vector<int64_t> written, asked_for;
    std::vector<bool> asked_far; // whether into the second-level cache alone
};
StreamedRows streamed_rows(int64_t heads, int64_t rows, int64_t columns, int64_t first, int64_t least = 0) {
    Rows x({"rotary_half", ATTUNE_F32, heads, rows, columns, 0, first});
    std::fill(x.lines.begin(), x.lines.end(), Line{});
    Rows y = x;
    std::vector<const char *> to, next;
    StreamedRows found;
    watch.least_streamed = least, watch.places = &to, watch.asked = &next, watch.asked_far = &found.asked_far;
    Call call(1);
    EXPECT_TRUE(rotary(x.heads(0, heads), y.heads(0, heads), {}, &call).ok());
    watch.places = watch.asked = nullptr, watch.asked_far = nullptr;
    for (const char *place : to)
        found.written.push_back((place - y.row(0, 0)) / (columns * 4));
    for (const char *place : next)
        found.asked_for.push_back(place ? (place - x.row(0, 0)) / (columns * 4) : StreamedRows::none);
    return found;
}

class StreamedHeads : public ::testing::Test {
protected:
    void SetUp() override { watch.turns = turns_of_others; }
};

// Each row of the table is read once for a few of them, and those of some tokens for all.
TEST_F(StreamedHeads, OfManyTokensTakeTurns) {
    for (const auto &[in_turn, tokens] : {std::pair<int64_t, int64_t>(4, 256), {7, 256}, {4, 512}, {4, 1024}}) {
        watch.turns.heads = static_cast<int32_t>(in_turn), watch.turns.tokens = static_cast<int32_t>(tokens);
        std::vector<int64_t> expected; // of four heads and of three, or of seven
        for (int64_t token = 0; token < 768; token += tokens)
            for (int64_t head = 0; head < 7; head += in_turn)
                for (int64_t i = token; i < std::min<int64_t>(token + tokens, 768); i++)
                    for (int64_t turn = head; turn < std::min<int64_t>(head + in_turn, 7); turn++)
                        expected.push_back(turn * 768 + i);
        EXPECT_EQ(streamed_rows(7, 768, 128, 0).written, expected) << in_turn << " heads, " << tokens << " tokens";
    }
}

TEST_F(StreamedHeads, AskForTheNextPartOfEachAsFarAsTheRuntimeSays) {
    for (bool far : {false, true}) {
        watch.turns.far = far;
        const StreamedRows rows = streamed_rows(7, 512, 128, 0);
        ASSERT_EQ(rows.asked_for.size(), rows.written.size());
        for (size_t i = 0; i < rows.written.size(); i++)
            ASSERT_EQ(rows.asked_for[i], rows.written[i] + 1) << i;
        EXPECT_EQ(rows.asked_far, std::vector<bool>(rows.written.size(), far));
    }
}

// Else one goes after the other, whose halves the hardware sees coming then.
TEST_F(StreamedHeads, OfLongRowsTakeTurnsWhereTheRuntimeSays) {
    for (bool any : {false, true}) {
        watch.turns.any = any;
        EXPECT_EQ(streamed_rows(2, 512, 256, 0).written[1], any ? 512 : 1);
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
    watch.turns = turns_of_intels;
    for (int64_t first : {0, 4, 16}) { // elements
        std::set<const char *> of_heads;
        watch.buffers = &of_heads;
        EXPECT_EQ(streamed_rows(7, 600, 128, first).written[1], 600);
        watch.buffers = nullptr;
        EXPECT_EQ(of_heads.size(), first % 16 == 0 ? 1 : 7) << first;
    }
}

// By a mask of each item's columns: no item would be streamed by itself.
TEST(StreamedSlices, AreJudgedAsAWhole) {
    const StreamCase c = {"softmax", ATTUNE_F32, 320, 32, 1024, 0, 0}; // 40 MiB, which no machine counts on; two items any has room for
    if (!has_avx512()) GTEST_SKIP() << "short rows of softmax are streamed with AVX-512";
    Rows x(c), y(c);
    std::fill(x.lines.begin(), x.lines.end(), Line{});
    std::vector<uint8_t> counts(static_cast<size_t>(c.heads * c.columns), 1);
    watch.least_streamed = int64_t{1} << 40;
    for (int64_t heads : {int64_t{2}, c.heads}) {
        const TensorView mask(counts.data(), ATTUNE_BOOL, {heads, 1, c.columns});
        SoftmaxOptions options;
        options.mask = &mask, watch.bytes = 0;
        ASSERT_TRUE(softmax(x.heads(0, heads), y.heads(0, heads), options).ok());
        EXPECT_EQ(watch.bytes, heads == c.heads ? x.bytes : 0) << heads << " items";
    }
}

class StreamedNorms : public ::testing::Test {
protected:
    static constexpr int64_t bytes_per_row = 4096;
    void SetUp() override { watch.least_streamed = 0; }
    void TearDown() override { watch.bytes_ahead = 8192, watch.pipelines_all_rows = true; }
    /** How far from the first row on lies what is asked for, of 64 rows. */
    static std::vector<int64_t> asked_for(Status (*norm)(const TensorView &, const TensorView &, const NormOptions &, attune_call *)) {
        Rows x({"", ATTUNE_F32, 1, 64, bytes_per_row / 4, 0, 0});
        std::fill(x.lines.begin(), x.lines.end(), Line{});
        Rows y = x;
        std::vector<const char *> next;
        watch.asked = &next;
        Call call(1);
        EXPECT_TRUE(norm(x.heads(0, 1), y.heads(0, 1), {}, &call).ok());
        watch.asked = nullptr;
        std::vector<int64_t> places;
        for (const char *place : next)
            places.push_back(place - x.begin());
        return places;
    }
};

TEST_F(StreamedNorms, AskForWhatLiesAsFarAheadAsTheRuntimeSays) {
    watch.pipelines_all_rows = false;
    for (const int32_t ahead : {4096, 8192, 16384}) {
        watch.bytes_ahead = ahead;
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
        watch.bytes_ahead = ahead;
        for (const auto &[norm, rows_read] : {std::pair(rms_norm, 1), {layer_norm, 2}}) {
            const std::vector<int64_t> places = asked_for(norm);
            ASSERT_EQ(places.size(), 64 * 8); // steps of 512 bytes
            for (size_t step = 0; step < 8 * 8; step++)
                ASSERT_EQ(places[step], ahead + rows_read * bytes_per_row + static_cast<int64_t>(step) * 512) << rows_read;
        }
    }
}

} // namespace
} // namespace attune::test::stream_order_test
