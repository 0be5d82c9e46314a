// ALiBi's slopes, and the table of biases that attention reads: every schedule, through the runtime.
#include "runtime/src/position/relative_bias.h"

#include <cmath>

#include "attune/attune.hpp"
#include "compare.h"
#include "kernels.h"
#include "random.h"
#include "relative_oracle.h"

namespace attune::test {
namespace {

class SlopesTest : public ::testing::TestWithParam<const attune_kernel *> {};

TEST_P(SlopesTest, AnyNumberOfHeads) {
    for (int64_t heads : {1, 2, 3, 7, 8, 12, 16, 20, 32, 33, 40, 64, 71, 112, 128, 1000}) {
        const Tensor<float> y({heads});
        const Status status = alibi_slopes(y.view(), GetParam()->schedule);
        ASSERT_TRUE(status.ok()) << status.message;
        EXPECT_TRUE(y.canaries_intact());
        EXPECT_TRUE(agrees(to_double(y), slopes_in_double(heads), {0, 1, 0})) << heads << " heads";
    }
}

TEST_P(SlopesTest, PowersOfTwoAreExact) {
    const Tensor<float> y({8});
    ASSERT_TRUE(alibi_slopes(y.view(), GetParam()->schedule).ok());
    EXPECT_EQ(y.values(), (std::vector<float>{0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625}));
}

TEST_P(SlopesTest, NoHeads) { EXPECT_TRUE(alibi_slopes(Tensor<float>({0}).view(), GetParam()->schedule).ok()); }

ATTUNE_FOR_EACH_KERNEL(SlopesTest, "alibi_slopes");

text::ScoreTerm alibi(text::Alignment alignment = text::Alignment::unnamed) {
    text::ScoreTerm term;
    term.kind = text::ScoreKind::alibi, term.alignment = alignment;
    return term;
}

text::ScoreTerm t5(const T5 &t5, text::Alignment alignment = text::Alignment::unnamed) {
    text::ScoreTerm term;
    term.kind = text::ScoreKind::t5, term.alignment = alignment;
    term.buckets = int32_t(t5.buckets), term.max_distance = int32_t(t5.max_distance), term.bidirectional = t5.bidirectional;
    return term;
}

class RelativeBias : public SeededTest {
protected:
    /** Works the table out, and checks every pair of query and key against the formulas. */
    void expect_right(const text::Score &score, const std::vector<int64_t> &offsets = {}) {
        given.extent = {int64_t(offsets.size())}, given.stride = {1}, given.first = 0;
        given.memory = std::make_shared<std::vector<int64_t>>(offsets);
        const attune_tensor offsets_view = given.view(), table_view = table.view();
        runtime::Call call(nullptr);
        runtime::Scratch<float> memory(call);
        attune_tensor relative;
        const runtime::RelativeInput input = {batch,      heads, queries, keys, &score, offset, offsets.empty() ? nullptr : &offsets_view,
                                              &table_view};
        const runtime::Status status = make_relative_bias(input, call, memory, relative);
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(relative.rank, 3);
        EXPECT_EQ(relative.extent[0], batch);
        EXPECT_EQ(relative.extent[1], heads);
        EXPECT_EQ(relative.extent[2], queries + keys - 1);
        shared = relative.stride[0] == 0;
        std::vector<double> got, want;
        for (int64_t b = 0; b < batch; b++)
            for (int64_t h = 0; h < heads; h++)
                for (int64_t i = 0; i < queries; i++)
                    for (int64_t j = 0; j < keys; j++) {
                        const int64_t place = b * relative.stride[0] + h * relative.stride[1] + (i - j + keys - 1) * relative.stride[2];
                        got.push_back(static_cast<const float *>(relative.data)[place]);
                        want.push_back(bias(score, offsets.empty() ? offset : offsets[b], h, i, j));
                    }
        EXPECT_TRUE(agrees(got, want, {0, 2, largest_magnitude(want)}));
    }
    double bias(const text::Score &score, int64_t given_offset, int64_t h, int64_t i, int64_t j) const {
        double sum = 0;
        for (const text::ScoreTerm &term : score.terms) {
            const int64_t at = term.alignment == text::Alignment::unnamed    ? given_offset
                               : term.alignment == text::Alignment::top_left ? 0
                                                                             : keys - queries;
            const int64_t distance = i + at - j;
            if (term.kind == text::ScoreKind::alibi) sum -= slopes_in_double(heads)[h] * double(std::abs(distance));
            if (term.kind == text::ScoreKind::t5)
                sum += table(t5_bucket_in_integers(-distance, {term.buckets, term.max_distance, term.bidirectional}), h);
        }
        return sum;
    }
    void make_table(int64_t buckets, const Layout &layout = {}) {
        table = Tensor<float>({buckets, heads}, layout);
        random.fill_normal(table);
    }

    int64_t batch = 3, heads = 6, queries = 9, keys = 150, offset = 0;
    Tensor<float> table{{1, 1}};
    Tensor<int64_t> given{{1}};
    bool shared = false;
};

TEST_F(RelativeBias, AlibiOfEveryAlignment) {
    for (int64_t given_offset : {0, 5, -20, 141, 1000000}) {
        offset = given_offset;
        expect_right({{alibi()}});
        EXPECT_TRUE(shared) << "all batch items have one offset";
    }
    expect_right({{alibi(text::Alignment::top_left)}});
    expect_right({{alibi(text::Alignment::bottom_right)}}, {7, 8, 9});
    EXPECT_TRUE(shared) << "no term follows the offsets";
}

TEST_F(RelativeBias, OffsetsOfEachItem) {
    expect_right({{alibi()}}, {0, 141, -3});
    EXPECT_FALSE(shared);
    make_table(32);
    expect_right({{t5({32, 128, true}), alibi(text::Alignment::bottom_right)}}, {3, 100, 0});
}

TEST_F(RelativeBias, T5OfEveryShape) {
    for (const T5 &shape : {T5{32, 128, true}, T5{32, 128, false}, T5{64, 256, true}, T5{2, 8, false}, T5{5, 7, false}}) {
        make_table(shape.buckets);
        for (int64_t given_offset : {0, 200, -130}) {
            offset = given_offset;
            expect_right({{t5(shape)}});
        }
    }
}

// One bucket for each side.
TEST_F(RelativeBias, T5OfTwoBucketsTellsSidesApart) {
    heads = 1, queries = 1, keys = 20, offset = 10, batch = 1;
    table = Tensor<float>({2, 1});
    table(0, 0) = 3, table(1, 0) = 4;
    const text::Score score = {{t5({2, 8, true})}};
    const attune_tensor view = table.view();
    runtime::Call call(nullptr);
    runtime::Scratch<float> memory(call);
    attune_tensor relative;
    ASSERT_TRUE(make_relative_bias({1, 1, 1, keys, &score, offset, nullptr, &view}, call, memory, relative).ok());
    for (int64_t j = 0; j < keys; j++)
        EXPECT_EQ(memory.data()[keys - 1 - j], j > 10 ? 4 : 3) << j;
}

TEST_F(RelativeBias, TableOfAnyStrides) {
    make_table(32, {{1, 0}, 3});
    expect_right({{alibi(), t5({32, 128, true}, text::Alignment::bottom_right)}});
    table = Tensor<float>({32, 1});
    random.fill_normal(table);
    table = table.broadcast({32, heads});
    expect_right({{t5({32, 128, false})}});
}

TEST_F(RelativeBias, FarOffsetsAreRefused) {
    const text::Score score = {{alibi()}};
    runtime::Call call(nullptr);
    attune_tensor relative;
    for (int64_t far : {int64_t{1} << 31, -(int64_t{1} << 31), int64_t{1} << 62}) {
        runtime::Scratch<float> memory(call);
        const runtime::Status status =
            make_relative_bias({batch, heads, queries, keys, &score, far, nullptr, nullptr}, call, memory, relative);
        EXPECT_EQ(status.code, ATTUNE_INVALID_ARGUMENT);
        EXPECT_NE(status.message.find("offset is " + std::to_string(far)), std::string::npos) << status.message;
    }
}

TEST(RelativeBiasChecks, Table) {
    const Tensor<float> table({32, 6}), other({32, 5});
    const attune_tensor right = table.view(), wrong = other.view();
    const text::Score with = {{t5({32, 128, true})}}, without = {{alibi()}};
    EXPECT_TRUE(runtime::check_t5_table(&right, with, 6).ok());
    EXPECT_TRUE(runtime::check_t5_table(nullptr, without, 6).ok());
    EXPECT_EQ(runtime::check_t5_table(nullptr, with, 6).message, "t5_table is NULL; the score's t5 needs it, f32 [32, 6]");
    EXPECT_EQ(runtime::check_t5_table(&right, without, 6).message, "t5_table is given; it goes with a score that has the term t5");
    EXPECT_EQ(runtime::check_t5_table(&wrong, with, 6).message, "t5_table.extent[1] is 5; it must be 6, the heads of q");
}

TEST(RelativeBiasChecks, Alignment) {
    const text::Score unnamed = {{alibi()}}, named = {{alibi(text::Alignment::top_left)}};
    EXPECT_TRUE(runtime::check_score_alignment(unnamed, 4, 4, false).ok());
    EXPECT_TRUE(runtime::check_score_alignment(unnamed, 4, 5, true).ok());
    EXPECT_TRUE(runtime::check_score_alignment(named, 4, 5, false).ok());
    EXPECT_EQ(runtime::check_score_alignment(unnamed, 4, 5, false).message,
              "the score's alibi names no alignment, and N = 4 differs from M = 5; name top_left or bottom_right in it, or give an offset");
}

} // namespace
} // namespace attune::test
