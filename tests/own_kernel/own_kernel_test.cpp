// What is compiled into a kernel means what the same text means at run time.
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "fenced.h"
#include "own_data_kernel.h"
#include "own_halves_kernel.h"
#include "own_lambda_kernel.h"
#include "own_lambda_pairs_kernel.h"
#include "own_lengths_kernel.h"
#include "own_narrow_kernel.h"
#include "own_narrower_kernel.h"
#include "own_pairs_kernel.h"
#include "own_pattern_kernel.h"
#include "own_reference_kernel.h"
#include "own_rotary_kernel.h"
#include "run_attention.h"

namespace attune::test {
namespace {

class OwnKernel : public SeededTest {
protected:
    static void expect_right(const attune_kernel &kernel, const AttentionProblem &p, RunOptions options = {}) {
        SCOPED_TRACE(describe(p));
        AttentionProblem given = p;
        if (std::string(kernel.score).find("softcap") != std::string::npos) given.softcap = 0; // the kernel has it
        const AttentionRun run = run_own_kernel(kernel, given, std::move(options));
        ASSERT_TRUE(run.status.ok()) << run.status.message;
        expect_agrees_with_oracle(run, p);
    }

    /** Of a kernel whose weights can't be read: with what C++ compiles in. */
    static void expect_results(const AttentionRun &run, const AttentionProblem &meant) {
        ASSERT_TRUE(run.status.ok()) << run.status.message;
        const AttentionAnswer exact = attention_in_double(meant);
        Rounding rounding(meant, exact);
        EXPECT_TRUE(within_rounding(
            rounding, [&](const RoundingError &allowed) { return agrees(to_double(run.out), exact.out, {2 * allowed.out + 1e-6}); }));
        EXPECT_TRUE(within_rounding(
            rounding, [&](const RoundingError &allowed) { return agrees(to_double(run.lse), exact.lse, {2 * allowed.lse + 1e-6}); }));
    }
};

TEST_F(OwnKernel, PatternSoftcapAndAlibi) {
    for (auto [queries, keys, first] : {std::array<int, 3>{1, 1, 0}, {70, 70, 5}, {33, 130, 40}, {130, 333, 1}}) {
        AttentionProblem p = normal_problem({2, 4, 2, queries, keys, 64, 64}, random);
        p.mask = "causal & (dilated(3) | strided(7) | prefix(" + std::to_string(first) + "))";
        p.offset = keys - queries, p.softcap = 5, p.alibi = true;
        RunOptions options;
        options.params = {first};
        expect_right(own_pattern_kernel, p, options);
    }
}

TEST_F(OwnKernel, RotaryWhilePacking) {
    for (auto [queries, keys] : {std::pair{5, 5}, {64, 64}, {77, 300}}) {
        AttentionProblem p = normal_problem({2, 4, 2, queries, keys, 64, 64}, random);
        p.mask = "causal", p.offset = keys - queries;
        p.rotary = Rotary{false, 500000, 0};
        expect_right(own_rotary_kernel, p);
        p.sinks = Tensor<float>({4});
        random.fill_normal(*p.sinks);
        p.dropout = 0.25f, p.seed = 0x123456789abcdefu;
        expect_right(own_rotary_kernel, p);
    }
}

// Fewer channels than a vector, or than are packed at once, and a table of one pair.
TEST_F(OwnKernel, RotaryOfNarrowHeads) {
    for (auto [kernel, dim, rotary] : {std::tuple(&own_halves_kernel, 64, Rotary{false, 10000, 12}),
                                       {&own_narrow_kernel, 12, Rotary{false, 10000, 0}},
                                       {&own_narrower_kernel, 8, Rotary{true, 10000, 2}}})
        for (auto [queries, keys] : {std::pair{1, 1}, {40, 70}}) {
            AttentionProblem p = normal_problem({2, 4, 2, queries, keys, dim, dim}, random);
            p.mask = kernel->mask, p.offset = keys - queries, p.rotary = rotary;
            expect_right(*kernel, p);
        }
}

// A vector of channels that spans both halves takes partners from either side.
TEST_F(OwnKernel, RotaryReadsNoPartnersFromOutsideOfKeys) {
    for (auto [kernel, dim] : {std::pair{&own_halves_kernel, 64}, {&own_narrow_kernel, 12}}) {
        const int64_t keys = 7, page = sysconf(_SC_PAGESIZE) / sizeof(float), floats = keys * dim;
        for (int64_t first : {page, 2 * page - floats}) { // at a page's start, and up to a page's end
            const Fenced k(3 * page, first, first + floats);
            const Tensor<float> q({1, 1, 1, dim}), v({1, 1, keys, dim}), out({1, 1, 1, dim});
            random.fill_normal(q), random.fill_normal(v);
            AttentionDesc desc;
            desc.head_dim = desc.value_dim = dim, desc.kernel = kernel;
            const Result<AttentionPlan> plan = AttentionPlan::create(desc);
            ASSERT_TRUE(plan.ok()) << plan.status().message;
            AttentionArgs args(q.view(), TensorView(k.data() + first, {1, 1, keys, dim}), v.view(), out.view());
            args.has_offset = 1, args.offset = keys - 1;
            const Status status = plan.value().run(args);
            EXPECT_TRUE(status.ok()) << status.message;
        }
    }
}

TEST_F(OwnKernel, EverythingThatComesWithARun) {
    AttentionProblem p = normal_problem({2, 4, 2, 50, 50, 20, 12}, random);
    p.mask = "(documents | tensor) & lengths & blocks(16, 24)";
    p.documents = Tensor<int64_t>({2, 50});
    for (int b = 0; b < 2; b++)
        for (int j = 0; j < 50; j++)
            (*p.documents)(b, j) = j / (11 + 6 * b) % 3;
    p.boolean_mask = Tensor<uint8_t>({1, 4, 50, 50});
    for (int h = 0; h < 4; h++)
        for (int i = 0; i < 50; i++)
            for (int j = 0; j < 50; j++)
                (*p.boolean_mask)(0, h, i, j) = (i * 7 + j * 3 + h) % 5 == 0;
    p.block_map = Tensor<uint8_t>({2, 1, 4, 3});
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 3; j++)
                (*p.block_map)(b, 0, i, j) = (i + j + b) % 2 == 0;
    p.key_lengths = {50, 31};
    p.t5 = T5Bias{32, true, Tensor<float>({8, 4})};
    random.fill_normal(p.t5->table);
    p.rotary = Rotary{true, 10000, 8};
    expect_right(own_data_kernel, p);
}

TEST_F(OwnKernel, OfTheReferenceSchedule) {
    AttentionProblem p = normal_problem({1, 2, 1, 30, 41, 6, 5}, random);
    p.mask = "window(9, 2) | !dilated(2)", p.offset = 11;
    p.learned = Tensor<float>({41, 6});
    random.fill_normal(*p.learned);
    expect_right(own_reference_kernel, p);
}

/** Token 0 stands at `first`. */
Tensor<float> with_odd_positions_negated(const Tensor<float> &x, int64_t first) {
    Tensor<float> y(x.extent);
    for (int64_t b = 0; b < x.extent[0]; b++)
        for (int64_t h = 0; h < x.extent[1]; h++)
            for (int64_t t = 0; t < x.extent[2]; t++)
                for (int64_t d = 0; d < x.extent[3]; d++)
                    y(b, h, t, d) = (first + t) % 2 == 1 ? -x(b, h, t, d) : x(b, h, t, d);
    return y;
}

/** What own_lambda.cpp says of a problem. */
AttentionProblem by_lambdas(const AttentionProblem &p) {
    AttentionProblem meant = p;
    meant.scale = 0.5f / std::sqrt(float(p.dim()));
    meant.bias = Tensor<float>({1, p.query_heads(), p.queries(), p.keys()});
    meant.boolean_mask = Tensor<uint8_t>({p.batch(), p.query_heads(), p.queries(), p.keys()});
    for (int h = 0; h < p.query_heads(); h++)
        for (int i = 0; i < p.queries(); i++)
            for (int j = 0; j < p.keys(); j++) {
                (*meant.bias)(0, h, i, j) = -0.02f * float(std::abs(i - j) * (h + 1));
                for (int b = 0; b < p.batch(); b++)
                    (*meant.boolean_mask)(b, h, i, j) = (i / 16 + j / 24 + h + b) % 3 == 0;
            }
    meant.q = with_odd_positions_negated(p.q, p.offset.value_or(0)), meant.k = with_odd_positions_negated(p.k, 0);
    return meant;
}

TEST_F(OwnKernel, LambdasOfMaskScoreAndPosition) {
    AttentionProblem p = normal_problem({2, 4, 2, 50, 70, 20, 12}, random);
    RunOptions options;
    options.weights = false; // what C++ compiles in can't be read
    expect_results(run_own_kernel(own_lambda_kernel, p, options), by_lambdas(p));
    p.offset = 21;
    expect_results(run_own_kernel(own_lambda_kernel, p, options), by_lambdas(p));
}

TEST_F(OwnKernel, LambdasOfPairs) {
    RunOptions options;
    options.weights = false;
    for (auto [queries, keys] : {std::pair{1, 1}, {50, 70}, {130, 1100}}) {
        const AttentionProblem p = rounded_inputs(ATTUNE_BF16, normal_problem({2, 4, 2, queries, keys, 20, 12}, random));
        const HalfRun run = run_own_half_kernel(own_lambda_pairs_kernel, p, options);
        ASSERT_TRUE(run.status.ok()) << run.status.message;
        expect_accurate(ATTUNE_BF16, by_lambdas(p), run);
    }
}

TEST_F(OwnKernel, PatternSoftcapAndAlibiOfPairs) {
    for (auto [queries, keys, first] : {std::array<int, 3>{1, 1, 0}, {70, 70, 5}, {33, 1130, 40}}) {
        AttentionProblem p = rounded_inputs(ATTUNE_BF16, normal_problem({2, 4, 2, queries, keys, 64, 64}, random));
        p.mask = "causal & (dilated(3) | prefix(" + std::to_string(first) + "))", p.offset = keys - queries, p.alibi = true;
        AttentionProblem meant = p;
        meant.softcap = 5; // the kernel has it
        RunOptions options;
        options.params = {first};
        for (bool has_bias : {false, true}) {
            if (has_bias) p.bias = Tensor<float>({1, 4, queries, keys}), random.fill_normal(*p.bias), meant.bias = p.bias;
            const HalfRun run = run_own_half_kernel(own_pairs_kernel, p, options);
            ASSERT_TRUE(run.status.ok()) << run.status.message;
            expect_accurate(ATTUNE_BF16, meant, run);
        }
    }
}

// A mask in C++ may read them in every call: without key lengths each is M.
TEST_F(OwnKernel, LambdaOfKeyLengthsThatMayBeMissing) {
    for (const std::vector<int64_t> &lengths : {std::vector<int64_t>{}, {70, 31}}) {
        AttentionProblem p = normal_problem({2, 4, 2, 50, 70, 20, 12}, random);
        p.key_lengths = lengths;
        AttentionProblem meant = p;
        const int left_out = 9;
        meant.boolean_mask = Tensor<uint8_t>({2, 1, 50, 70});
        for (int b = 0; b < 2; b++)
            for (int i = 0; i < 50; i++)
                for (int j = 0; j < 70; j++)
                    (*meant.boolean_mask)(b, 0, i, j) = j < (lengths.empty() ? 70 : lengths[size_t(b)]) - left_out;
        RunOptions options;
        options.params = {left_out}, options.weights = false; // what C++ compiles in can't be read
        const AttentionRun run = run_own_kernel(own_lengths_kernel, p, options);
        expect_results(run, meant);
    }
}

} // namespace
} // namespace attune::test
