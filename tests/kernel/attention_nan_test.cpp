// NaN and Inf: what is masked changes no bit, and what is attended shows exactly where float64 shows it.
#include "attention_test.h"

#include <limits>

namespace attune::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float lowest = std::numeric_limits<float>::lowest();

ATTUNE_ATTENTION_SUITE(AttentionNaN);

/** Fills key j and value j of all heads of a batch item. */
void poison_key(const AttentionProblem &p, int64_t b, int64_t j, float value) {
    for (int64_t h = 0; h < p.key_heads(); h++) {
        for (int64_t d = 0; d < p.dim(); d++)
            p.k(b, h, j, d) = value;
        for (int64_t d = 0; d < p.value_dim(); d++)
            p.v(b, h, j, d) = value;
    }
}

/** A clone whose inputs can be spoilt without spoiling the original's. */
AttentionProblem clone(const AttentionProblem &p) {
    AttentionProblem copy = p;
    copy.q = p.q.clone(), copy.k = p.k.clone(), copy.v = p.v.clone();
    if (p.bias) copy.bias = p.bias->clone();
    return copy;
}

void expect_same(const AttentionRun &got, const AttentionRun &want) {
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    ASSERT_TRUE(want.status.ok()) << want.status.message;
    EXPECT_TRUE(same_bits(got.out, want.out)) << "out";
    EXPECT_TRUE(same_bits(got.lse, want.lse)) << "lse";
    EXPECT_TRUE(same_bits(got.weights, want.weights)) << "weights";
}

TEST_P(AttentionNaN, BeyondTheKeyLengthsNothingCounts) {
    AttentionProblem p = problem(25, 97, 3, 4, 2);
    p.key_lengths = {97, 40, 0};
    const AttentionRun clean = run_attention(kernel(), p);
    for (float poison : {NAN, infinity, -infinity, lowest}) {
        const AttentionProblem spoilt = clone(p);
        for (int64_t b = 0; b < 3; b++)
            for (int64_t j = p.key_lengths[b]; j < 97; j++)
                poison_key(spoilt, b, j, poison);
        expect_same(run_attention(kernel(), spoilt), clean);
    }
}

TEST_P(AttentionNaN, UnderATextMaskNothingCounts) {
    for (const char *mask : {"prefix(30)", "!prefix(30)", "!prefix(10) & prefix(50)", "window(3,3,top_left)"}) {
        AttentionProblem p = problem(13, 97, 1, 2, 2);
        p.mask = mask;
        const AttentionRun clean = run_attention(kernel(), p);
        const AttentionProblem spoilt = clone(p);
        const AttentionAnswer exact = attention_in_double(p);
        for (int64_t j = 0; j < 97; j++) {
            bool masked = true;
            for (int64_t i = 0; i < 13; i++)
                masked = masked && exact.masked[i * 97 + j];
            if (masked) poison_key(spoilt, 0, j, j % 2 == 0 ? NAN : infinity);
        }
        SCOPED_TRACE(mask);
        expect_same(run_attention(kernel(), spoilt), clean);
    }
}

TEST_P(AttentionNaN, UnderABooleanMaskNothingCounts) {
    AttentionProblem p = problem(25, 97);
    p.boolean_mask = boolean_mask({1, 1, 1, 97}, 0.5);
    const AttentionRun clean = run_attention(kernel(), p);
    for (float poison : {NAN, infinity}) {
        const AttentionProblem spoilt = clone(p);
        for (int64_t j = 0; j < 97; j++)
            if ((*p.boolean_mask)(0, 0, 0, j) == 0) poison_key(spoilt, 0, j, poison);
        expect_same(run_attention(kernel(), spoilt), clean);
    }
}

TEST_P(AttentionNaN, UnderAnInfinitelyNegativeBiasNothingCounts) {
    AttentionProblem p = problem(25, 97);
    p.bias = bias({1, 1, 1, 97});
    p.bias->each([&](float &value) { value = random.chance(0.3) ? -infinity : value; });
    const AttentionRun clean = run_attention(kernel(), p);
    for (float poison : {NAN, infinity}) {
        const AttentionProblem spoilt = clone(p);
        for (int64_t j = 0; j < 97; j++)
            if ((*p.bias)(0, 0, 0, j) == -infinity) poison_key(spoilt, 0, j, poison);
        expect_same(run_attention(kernel(), spoilt), clean);
    }
}

TEST_P(AttentionNaN, ABiasUnderAMaskDoesntCount) {
    AttentionProblem p = problem(25, 49);
    p.mask = "causal | prefix(3)", p.offset = 7, p.bias = bias({1, 2, 25, 49});
    p.boolean_mask = boolean_mask({1, 2, 25, 49});
    const AttentionRun clean = run_attention(kernel(), p);
    const AttentionAnswer exact = attention_in_double(p);
    for (float poison : {NAN, infinity, lowest, -infinity}) {
        const AttentionProblem spoilt = clone(p);
        size_t cell = 0;
        spoilt.bias->each([&](float &value) { value = exact.masked[cell++] ? poison : value; });
        expect_same(run_attention(kernel(), spoilt), clean);
    }
}

TEST_P(AttentionNaN, PaddingDoesntCount) {
    const AttentionProblem p = problem(25, 49, 2, 4, 2);
    AttentionProblem padded = p;
    padded.q = p.q.laid_out(Layout::tokens_first(9)), padded.k = p.k.laid_out(Layout::tokens_first(1));
    padded.v = p.v.laid_out(Layout::heads_first(17));
    expect_same(run_attention(kernel(), padded), run_attention(kernel(), p));
}

/** A key some rows attend to and others don't: no bit of those that don't may change, be it NaN, or its scores too large for what others
 * are weighed by. */
TEST_P(AttentionNaN, RowsThatDontAttendAreUntouched) {
    for (float poison : {NAN, infinity, 3e3f, 1e30f})
        for (int64_t place : {0, 5, 20, 36}) {
            AttentionProblem p = problem(37, 37);
            p.mask = "causal & !window(2,0)";
            const AttentionRun clean = run_attention(kernel(), p);
            const AttentionProblem spoilt = clone(p);
            poison_key(spoilt, 0, place, poison);
            const AttentionRun run = run_attention(kernel(), spoilt);
            ASSERT_TRUE(run.status.ok()) << run.status.message;
            for (int64_t i = 0; i < std::min<int64_t>(37, place + 3); i++)
                for (int64_t d = 0; d < p.value_dim(); d++)
                    ASSERT_EQ(run.out(0, 1, i, d), clean.out(0, 1, i, d)) << "key " << place << ", row " << i << ", column " << d;
            SCOPED_TRACE(::testing::Message() << "key " << place << ": " << poison);
            if (std::isnan(poison)) expect_agrees_with_oracle(run, spoilt, {false, 0});
        }
}

/** Whatever comes before it and after: a maximum that forgets what it had at a NaN would weigh scores above it. */
TEST_P(AttentionNaN, ANanBesideALargeScoreShows) {
    for (float large : {5.0f, 50.0f, 130.0f, 400.0f, 3000.0f})
        for (int64_t place : {4, 7, 11, 40}) {
            SCOPED_TRACE(::testing::Message() << "a score of " << large << ", NaN at " << place);
            expect_right(nan_beside_a_large_score(large, place), {false, 0});
        }
}

/** One NaN or infinity in one place of q, k or v, at the edges of rows and of the tensor. */
TEST_P(AttentionNaN, OneAttendedPlaceShowsWhereItMust) {
    const AttentionProblem p = problem(25, 49, 1, 4, 2);
    for (int tensor = 0; tensor < 3; tensor++)
        for (float poison : {NAN, infinity, -infinity})
            for (auto [token, column] : {std::pair<int64_t, int64_t>{0, 0}, {11, 5}, {24, -1}, {48, -1}, {48, 0}}) {
                const AttentionProblem spoilt = clone(p);
                const Tensor<float> &target = tensor == 0 ? spoilt.q : tensor == 1 ? spoilt.k : spoilt.v;
                const int64_t last = target.extent[3] - 1;
                target(0, 1, std::min(token, target.extent[2] - 1), column < 0 ? last : column) = poison;
                SCOPED_TRACE(::testing::Message() << "qkv"[tensor] << " token " << token << " column " << column << ": " << poison);
                expect_right(spoilt, {false, 0});
            }
}

TEST_P(AttentionNaN, AnAttendedPlaceFarBehindFiniteBlocks) {
    const int64_t keys = large();
    for (int64_t place : {int64_t(1), keys / 2, keys - 2})
        for (const char *mask : {"none", "causal"}) {
            AttentionProblem p = problem(13, keys);
            p.mask = mask, p.offset = keys / 2;
            p.v(0, 0, place, 3) = NAN;
            expect_right(p, {false, 0});
            p.v(0, 0, place, 3) = 0, p.k(0, 0, place, 7) = NAN;
            expect_right(p, {false, 0});
        }
}

TEST_P(AttentionNaN, AnInfiniteValueGivesAnInfinity) {
    AttentionProblem p = problem(13, 49);
    p.v(0, 0, 40, 1) = infinity, p.v(0, 0, 3, 2) = -infinity;
    p.v(0, 0, 3, 4) = infinity, p.v(0, 0, 40, 4) = -infinity; // their sum is NaN
    expect_right(p, {false, 0.5});
}

TEST_P(AttentionNaN, ABiasShowsWhereItIsAttended) {
    for (float poison : {NAN, infinity}) {
        AttentionProblem p = problem(25, 49);
        p.mask = "causal", p.offset = 4, p.bias = bias({1, 1, 25, 49});
        (*p.bias)(0, 0, 3, 6) = poison, (*p.bias)(0, 0, 4, 20) = poison; // the second one is masked
        expect_right(p, {false, 0.5});
    }
}

TEST_P(AttentionNaN, RowsOfNaNUnderASoftcapAndAColdTemperature) {
    for (auto [softcap, temperature] : {std::pair(3.0f, 1.0f), {0.0f, 1e-3f}, {3.0f, 100.0f}}) {
        AttentionProblem p = problem(13, 33);
        p.softcap = softcap, p.temperature = temperature;
        p.q(0, 0, 4, 1) = NAN, p.k(0, 0, 9, 0) = infinity;
        expect_right(p, {false, 0});
    }
}

} // namespace
} // namespace attune::test
