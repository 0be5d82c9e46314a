// The attention kernels of f16 and bf16 by the rule of accuracy: twice the error of the textbook form with every intermediate rounded to
// the type, plus one ulp of it at max |v|.
#include <algorithm>
#include <iterator>
#include <tuple>

#include "attention_test.h"

namespace attune::test {
namespace {

std::vector<const attune_kernel *> half_kernels() {
    std::vector<const attune_kernel *> kernels = kernels_of_all_types("attention");
    const auto other = [](const attune_kernel *kernel) { return kernel->dtype == ATTUNE_F32; };
    kernels.erase(std::remove_if(kernels.begin(), kernels.end(), other), kernels.end());
    return kernels;
}

class AttentionTypes : public AttentionTest {
protected:
    attune_type type() const { return kernel().dtype; }

    /** A problem whose q, k and v are values of the type. */
    AttentionProblem half_problem(int64_t queries, int64_t keys) { return rounded(problem(queries, keys, 2, 4, 2)); }

    AttentionProblem rounded(const AttentionProblem &p) const { return rounded_inputs(type(), p); }

    HalfRun run(const AttentionProblem &p) const { return run_half_attention(kernel(), p); }

    void expect_within(double factor, const AttentionProblem &p) {
        SCOPED_TRACE(describe(p));
        const HalfRun got = run(p);
        ASSERT_TRUE(got.status.ok()) << got.status.message;
        expect_accurate(type(), p, got, factor);
    }
};
INSTANTIATE_TEST_SUITE_P(Prebuilt, AttentionTypes, ::testing::ValuesIn(half_kernels()), kernel_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AttentionTypes);

TEST_P(AttentionTypes, AroundTheTiles) {
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{1, 1}, {1, 97}, {13, 33}, {49, 50}, {97, 129}})
        expect_within(2, half_problem(queries, keys));
}

/** Pairs of bf16 leave channels over at most of these. One row a key, and several. */
TEST_P(AttentionTypes, DecodingOfAnyWidth) {
    if (std::string_view(kernel().schedule) != "decode" || kernel().head_dim != 0) GTEST_SKIP() << "of decoding any width";
    for (int64_t dim : {1, 16, 31, 32, 33, 47, 48, 63, 65, 72, 80, 96, 112, 129, 160, 192, 256, 576})
        for (auto [queries, heads] : {std::pair<int64_t, int64_t>{1, 2}, {3, 4}}) {
            const int64_t value_dim = dim == 576 ? 512 : dim;
            const AttentionProblem p = rounded(normal_problem({2, heads, 2, queries, 97, dim, value_dim}, random));
            expect_within(2, p);
            expect_padding_changes_no_bit(p, [this](const AttentionProblem &padded) { return run(padded); });
        }
}

/** Of one row and of several, whose chunks may be of other lengths: 4096 and 1024 keys where pairs of bf16 are multiplied. */
TEST_P(AttentionTypes, DecodingOfManyChunks) {
    if (std::string_view(kernel().schedule) != "decode") GTEST_SKIP() << "of decoding alone";
    for (int64_t keys : {4095, 4096, 4097, 8250})
        for (auto [queries, heads] : {std::pair<int64_t, int64_t>{1, 2}, {1, 4}, {3, 2}}) {
            AttentionProblem p = rounded(problem(queries, keys, 1, heads, 2));
            expect_within(2, p);
            p.mask = "window(5000, 0, bottom_right) & lengths", p.key_lengths = {keys - 50};
            expect_within(2, p);
        }
}

/** Rows of which some are multiplied by tiles: fewer than these, a tile of 16, and more; and keys around panels of 16, and chunks. */
TEST_P(AttentionTypes, DecodingOfManyRows) {
    if (std::string_view(kernel().schedule) != "decode") GTEST_SKIP() << "of decoding alone";
    for (int64_t keys : {1, 15, 16, 17, 32, 33, 63, 64, 65, 129, 1023, 1024, 1025, 2100})
        for (auto [queries, heads, key_heads] :
             {std::tuple<int64_t, int64_t, int64_t>{1, 4, 1}, {1, 10, 2}, {1, 8, 1}, {1, 16, 1}, {1, 17, 1}, {5, 8, 1}}) {
            AttentionProblem p = rounded(
                normal_problem({1, heads, key_heads, queries, keys, head_dim_or(kernel(), 192), head_dim_or(kernel(), 128)}, random));
            expect_within(2, p);
            if (keys < 100) continue;
            p.mask = "window(900, 0, bottom_right) & lengths | prefix(3)", p.key_lengths = {keys - 20};
            p.boolean_mask = boolean_mask({1, 1, queries, keys}), p.bias = bias({1, heads, 1, keys}), p.dropout = 0.2f, p.seed = 7;
            p.softcap = 5, p.sinks = bias({heads});
            expect_within(2, p);
        }
}

/** Of each row its own keys are masked, and hold what isn't finite, beside others that count. */
TEST_P(AttentionTypes, DecodingOfManyRowsOverWhatIsMaskedChangesNoBit) {
    if (std::string_view(kernel().schedule) != "decode") GTEST_SKIP() << "of decoding alone";
    for (auto [heads, key_heads] : {std::pair<int64_t, int64_t>{5, 1}, {16, 1}, {40, 2}}) {
        AttentionProblem p =
            rounded(normal_problem({2, heads, key_heads, 1, 97, head_dim_or(kernel(), 192), head_dim_or(kernel(), 128)}, random));
        expect_padding_changes_no_bit(p, [this](const AttentionProblem &padded) { return run(padded); });
        p.mask = "causal(bottom_right)", p.dropout = 0.3f, p.seed = 5;
        expect_padding_changes_no_bit(p, [this](const AttentionProblem &padded) { return run(padded); });
    }
}

/** Weights are of f32, and the output's kernel may multiply pairs of bf16. */
TEST_P(AttentionTypes, ATemperatureNearZeroPicksTheLargest) {
    for (float temperature : {1e-7f, 1e-20f}) {
        AttentionProblem p = half_problem(41, 77);
        p.temperature = temperature;
        const HalfRun got = run(p);
        ASSERT_TRUE(got.status.ok()) << got.status.message;
        for (auto row = got.weights.begin(); row != got.weights.end(); row += 77)
            EXPECT_GE(*std::max_element(row, row + 77), 0.5); // 0.5: two of the same score
    }
}

TEST_P(AttentionTypes, UnderMasksAndBiases) {
    for (const char *mask : {"causal", "window(9, 3)", "prefix(0)", "!causal"}) {
        AttentionProblem p = half_problem(41, 41);
        p.mask = mask;
        expect_within(2, p);
        p.alibi = true;
        expect_within(2, p);
    }
}

/** The first of the stages that change scores scales those of pairs, if there is one. */
TEST_P(AttentionTypes, WhateverChangesScoresTheyAreScaledOnce) {
    for (int which = 0; which < 8; which++) {
        AttentionProblem p = half_problem(41, 77);
        p.scale = -0.4f, p.temperature = 0.8f, p.offset = 36;
        if (which & 1) p.softcap = 1.5f;
        if (which & 2) p.alibi = true;
        if (which & 4) p.bias = bias({1, 4, 41, 77});
        expect_within(2, p);
    }
}

TEST_P(AttentionTypes, UnderTensorsOfCells) {
    for (const Extents &extents : {Extents{2, 4, 41, 77}, {1, 1, 1, 77}, {2, 1, 41, 1}, {1, 4, 41, 77}}) {
        AttentionProblem p = half_problem(41, 77);
        p.boolean_mask = boolean_mask(extents);
        expect_within(2, p);
        p.mask = "causal(bottom_right)", p.bias = bias(extents);
        expect_within(2, p);
        p.boolean_mask.reset(), p.dropout = 0.25f, p.seed = 3;
        expect_within(2, p);
    }
}

TEST_P(AttentionTypes, UnderMasksOfACallsData) {
    for (const char *mask : {"documents & causal", "!documents | prefix(3)", "blocks(16, 32) | window(5, 0)", "lengths & causal"}) {
        AttentionProblem p = half_problem(70, 70);
        p.mask = mask;
        if (p.mask.find("documents") != std::string::npos) p.document_starts = {0, 5, 5, 40, 70};
        if (p.mask.find("blocks") != std::string::npos) p.block_map = boolean_mask({2, 4, 5, 3}, 0.5);
        if (p.mask.find("lengths") != std::string::npos) p.key_lengths = {70, 33};
        expect_within(2, p);
    }
}

TEST_P(AttentionTypes, WithSinks) {
    AttentionProblem p = half_problem(37, 45);
    p.sinks = bias({4});
    expect_within(2, p);
    p.mask = "!causal(top_left)", p.temperature = 0.5f;
    expect_within(2, p);
}

/** Tiles, panels and blocks of any length, of which any may be empty, full or neither. */
TEST_P(AttentionTypes, AnyCombination) {
    const char *const masks[] = {"none", "causal(bottom_right)", "window(300, 20)", "causal & !window(64, 64)",
                                 "prefix(7) | window(33, 0)"};
    for (int round = 0; round < 6; round++) {
        const int64_t queries = random.between(1, 80), keys = random.between(1, 1200);
        AttentionProblem p = rounded(problem(queries, keys));
        p.mask = masks[random.between(0, int64_t(std::size(masks)) - 1)], p.offset = random.between(0, keys);
        if (random.chance(0.5)) p.boolean_mask = boolean_mask({1, 2, queries, keys}, random.chance(0.5) ? 0.02 : 0.98);
        if (random.chance(0.5)) p.bias = bias({1, 1, queries, keys});
        if (random.chance(0.5)) p.sinks = bias({2});
        if (random.chance(0.3)) p.softcap = 5;
        if (random.chance(0.3)) p.dropout = 0.5f, p.seed = round;
        expect_within(2, p);
    }
}

/** Widths that fill neither pairs nor vectors. */
TEST_P(AttentionTypes, OddWidths) {
    if (kernel().head_dim != 0) GTEST_SKIP() << "the kernel's widths are compiled in";
    for (auto [dim, value_dim] : {std::pair<int64_t, int64_t>{1, 1}, {13, 7}, {33, 17}, {72, 80}})
        expect_within(2, rounded(normal_problem({1, 2, 1, 35, 41, dim, value_dim}, random)));
}

TEST_P(AttentionTypes, UnderSoftcapScaleTemperatureAndDropout) {
    AttentionProblem p = half_problem(37, 45);
    p.softcap = 2;
    expect_within(2, p);
    p.scale = -0.3f, p.temperature = 0.5f;
    expect_within(2, p);
    p.softcap = 0, p.dropout = 0.25f, p.seed = 5;
    expect_within(2, p);
}

TEST_P(AttentionTypes, AnyFiniteScaleAndTemperature) {
    for (float scale : {0.0f, -0.0f, -0.3f, 3.0f, -30.0f, 1e-38f}) {
        AttentionProblem p = half_problem(9, 700);
        p.mask = "prefix(690)", p.scale = scale;
        expect_within(2, p);
        p.scale = std::clamp(scale, -0.3f, 0.3f), p.temperature = 0.01f;
        expect_within(2, p);
    }
}

/** However large the products are that it makes equal. */
TEST_P(AttentionTypes, AScaleOf0GivesTheMean) {
    AttentionProblem p = half_problem(9, 700);
    const float large = type() == ATTUNE_BF16 ? 0x1p58f : 8.0f;
    p.mask = "prefix(690)", p.scale = 0.0f;
    p.q.fill(large);
    p.k.each([large, i = int64_t(0), d = p.dim()](float &x) mutable { x = i++ / d % 2 == 0 ? large : -large; });
    expect_within(2, p);
}

/** The key of the largest score alone is left, whichever block it is in. */
TEST_P(AttentionTypes, AScaleWithoutMeasurePicksTheLargest) {
    for (float scale : {1e12f, -1e12f, 1e30f}) {
        AttentionProblem p = half_problem(9, 700);
        p.mask = "prefix(690)", p.scale = scale;
        const HalfRun got = run(p);
        ASSERT_TRUE(got.status.ok()) << got.status.message;
        EXPECT_TRUE(agrees(got.out, attention_in_double(p).out, {1e-6})) << scale;
    }
}

/** What all scores of a row have in common cancels, however large: also where the largest is in another block than the rest. */
TEST_P(AttentionTypes, ALevelOfAllScoresChangesNothing) {
    AttentionProblem p = half_problem(5, 1300);
    p.scale = 0.5f;
    p.q.fill(0), p.k.fill(0);
    for (int64_t b = 0; b < p.batch(); b++)
        for (int64_t h = 0; h < 2; h++)
            for (int64_t j = 0; j < p.keys(); j++) {
                p.k(b, h, j, 0) = 256, p.k(b, h, j, 1) = j < 600 ? -4.0f - j % 3 : j < 1200 ? -2.0f - j % 5 : j % 2;
                for (int64_t d = 0; d < p.value_dim(); d++)
                    p.v(b, h, j, d) = j < 600 ? 3 : j < 1200 ? -1 : 1;
            }
    auto at_level = [&](float level) {
        for (int64_t b = 0; b < p.batch(); b++)
            for (int64_t h = 0; h < p.query_heads(); h++)
                for (int64_t i = 0; i < p.queries(); i++)
                    p.q(b, h, i, 0) = level, p.q(b, h, i, 1) = 1;
        return run(p);
    };
    const HalfRun low = at_level(0);
    for (float level : {1.0f, 5.0f, -5.5f, 6.0f, -40.0f, 1024.0f, 6016.0f, -8192.0f}) {
        const HalfRun high = at_level(level);
        ASSERT_TRUE(high.status.ok()) << high.status.message;
        EXPECT_TRUE(agrees(high.out, low.out, {0.004})) << level;
    }
}

/** Also where a masked key shares a pair with one that counts. */
TEST_P(AttentionTypes, WhatIsMaskedChangesNoBit) {
    expect_padding_changes_no_bit(half_problem(25, 97), [this](const AttentionProblem &p) { return run(p); });
}

/** NaN exactly where float64 has it, beside masked NaN and Inf; the rest as accurate as ever. */
TEST_P(AttentionTypes, WhatIsAttendedShows) {
    AttentionProblem p = half_problem(33, 33);
    p.mask = "causal";
    p.v(0, 0, 20, 2) = NAN, p.v(1, 1, 7, 1) = INFINITY, p.k(0, 1, 12, 3) = NAN, p.q(1, 2, 5, 0) = NAN, p.v(1, 0, 31, 0) = -INFINITY;
    const HalfRun got = run(p);
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    const AttentionAnswer exact = attention_in_double(p);
    EXPECT_TRUE(agrees(got.out, exact.out, {0.05}, 0.2)) << "out";
    EXPECT_TRUE(agrees(got.lse, exact.lse, {0.05}, 0.2)) << "lse";
}

/** A key some rows attend to and others don't: no bit of those that don't may change, be it NaN, or its scores too large for what others
 * are weighed by. */
TEST_P(AttentionTypes, RowsThatDontAttendAreUntouched) {
    for (float poison : {NAN, INFINITY, 3072.0f})
        for (int64_t place : {5, 20}) {
            AttentionProblem p = half_problem(37, 37);
            p.mask = "causal & !window(2,0)";
            const HalfRun clean = run(p);
            for (int64_t d = 0; d < p.dim(); d++)
                p.k(0, 1, place, d) = poison;
            for (int64_t d = 0; d < p.value_dim(); d++)
                p.v(0, 1, place, d) = poison;
            const HalfRun got = run(p);
            ASSERT_TRUE(got.status.ok()) << got.status.message;
            const int64_t width = p.value_dim(), untouched = place + 3, head = 2 * 37;
            for (int64_t cell = head * width; cell < (head + untouched) * width; cell++)
                ASSERT_EQ(got.out[cell], clean.out[cell]) << poison << " at " << place << ": cell " << cell;
            for (int64_t row = head; row < head + untouched; row++)
                ASSERT_EQ(got.lse[row], clean.lse[row]) << poison << " at " << place << ": row " << row;
        }
}

/** Whatever comes before it and after: a maximum that forgets what it had at a NaN would weigh scores above it. */
TEST_P(AttentionTypes, ANanBesideALargeScoreShows) {
    for (float large : {4.0f, 48.0f, 128.0f, 384.0f, 3072.0f})
        for (int64_t place : {4, 7, 11, 40}) {
            const HalfRun got = run(rounded(nan_beside_a_large_score(large, place)));
            ASSERT_TRUE(got.status.ok()) << got.status.message;
            for (double x : got.out)
                ASSERT_TRUE(std::isnan(x)) << "scores of " << large << ", NaN at " << place;
            for (double x : got.lse)
                ASSERT_TRUE(std::isnan(x)) << "scores of " << large << ", NaN at " << place;
        }
}

/** Rows of a tile whose scores are of thousands and near one another, and others. */
TEST_P(AttentionTypes, RowsOfLargeScoresBesideSmallOnes) {
    AttentionProblem p = half_problem(41, 77);
    p.scale = 1.0f;
    for (int64_t i = 0; i < 41; i += 3)
        for (int64_t d = 0; d < p.dim(); d++)
            p.q(0, 1, i, d) *= 1024;
    const HalfRun got = run(p);
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    expect_within(2, p);
}

/** q and k are rounded once more after they are turned. */
TEST_P(AttentionTypes, WithPositions) {
    AttentionProblem p = half_problem(33, 33);
    p.rotary = Rotary{};
    expect_within(4, p);
    p.mask = "causal", p.offset = 3;
    expect_within(4, p);
}

} // namespace
} // namespace attune::test
