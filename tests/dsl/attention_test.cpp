// The declaration of attention, computed plainly, against float64: however it is cut into tiles and blocks.
#include <cmath>
#include <map>
#include <memory>

#include "bits.h"
#include "compare.h"
#include "jit_attention.h"

namespace attune::test::attention_test {
namespace {

struct Cut {
    const char *name;
    dsl::Blocking blocking;
};

const Cut cuts[] = {{"single_cells", {1, 1, 1, 1, 1}}, {"odd", {3, 2, 10, 5, 3}}, {"even", {7, 3, 24, 4, 8}}};

/** Every stage of the declaration. Compiling takes seconds, so a Blocking is compiled once for all its tests. */
class Attention : public SeededTestWithParam<Cut> {
protected:
    static JitAttention &compiled(const Cut &cut) {
        static std::map<std::string, std::unique_ptr<JitAttention>> all;
        std::unique_ptr<JitAttention> &one = all[cut.name];
        if (one) return *one;
        one = std::make_unique<JitAttention>();
        one->declare(cut.blocking);
        one->compute_all_at_root();
        one->compile(Halide::get_host_target());
        return *one;
    }

    AttentionProblem problem(int64_t queries, int64_t keys, const std::string &mask = "none", int64_t dim = 6, int64_t value_dim = 5) {
        AttentionProblem p = normal_problem({2, 4, 2, queries, keys, dim, value_dim}, random);
        p.mask = mask;
        return p;
    }

    void expect_right(const AttentionProblem &p) {
        SCOPED_TRACE(std::to_string(p.queries()) + " queries, " + std::to_string(p.keys()) + " keys, mask " + p.mask);
        expect_exact(jit.run(p), p);
    }

    JitAttention &jit = compiled(GetParam());
};

std::string name(const ::testing::TestParamInfo<Cut> &info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Blockings, Attention, ::testing::ValuesIn(cuts), name);

TEST_P(Attention, AgreesWithFloat64AtEverySize) {
    for (auto [queries, keys] : {std::pair{1, 1}, {1, 25}, {8, 1}, {7, 24}, {22, 23}})
        expect_right(problem(queries, keys));
    expect_right(problem(5, 9, "none", 1, 1));
    expect_right(problem(5, 9, "none", 3, 17));
}

TEST_P(Attention, RunTimeMasksHoldPerBatchItem) {
    for (const char *mask :
         {"causal", "window(4, 2)", "causal & window(3, 0)", "prefix(5)", "causal | prefix(6)", "window(2, 0) | prefix(3)", "!causal"}) {
        AttentionProblem p = problem(13, 27, mask);
        p.offsets = {3, 12};
        p.key_lengths = {27, 20};
        expect_right(p);
    }
}

TEST_P(Attention, RowsThatAttendToNothingGiveZeros) {
    AttentionProblem p = problem(11, 9, "causal");
    p.offsets = {-4, -30};
    expect_right(p);
    p = problem(11, 9);
    p.key_lengths = {0, 5};
    const JitResult result = jit.run(p);
    for (int64_t i = 0; i < 11; i++) {
        EXPECT_EQ(result.lse(0, 1, i), -infinity);
        EXPECT_EQ(bits_of(result.out(0, 1, i, 2)), 0u);
    }
    expect_exact(result, p);
}

TEST_P(Attention, SoftcapBiasAndBooleanMaskApplyInTheirOrder) {
    AttentionProblem p = problem(9, 14, "causal");
    p.offsets = {5, 6};
    p.softcap = 1.5f;
    expect_right(p);
    p.bias = Tensor<float>({2, 4, 9, 14});
    random.fill_normal(*p.bias, 3);
    (*p.bias)(0, 1, 2, 3) = (*p.bias)(1, 2, 8, 0) = -infinity;
    expect_right(p);
    p.boolean_mask = Tensor<uint8_t>({1, 1, 9, 14});
    random.fill_boolean(*p.boolean_mask, 0.6);
    expect_right(p);
    p.softcap = 0;
    p.temperature = 0.05f;
    p.scale = -0.8f;
    expect_right(p);
}

TEST_P(Attention, NothingMaskedReachesAResult) {
    AttentionProblem p = problem(9, 14);
    p.boolean_mask = Tensor<uint8_t>({2, 1, 1, 14});
    p.boolean_mask->fill(1);
    const std::vector<float> poison = {NAN, infinity, -infinity};
    for (int64_t b = 0; b < 2; b++)
        for (int64_t bad = 0; bad < 3; bad++) {
            (*p.boolean_mask)(b, 0, 0, 3 + 4 * bad) = 0;
            for (int64_t h = 0; h < 2; h++)
                p.k(b, h, 3 + 4 * bad, 2) = p.v(b, h, 3 + 4 * bad, 1) = poison[bad];
        }
    expect_right(p);
}

TEST_P(Attention, AnAttendedNanOfAnyKindReachesItsRows) {
    for (float nan : all_kinds_of_nan()) {
        AttentionProblem p = problem(6, 9, "causal");
        p.offset = 0;
        p.q(0, 0, 2, 0) = nan;
        p.k(0, 1, 4, 1) = nan;
        p.v(1, 0, 3, 2) = nan;
        SCOPED_TRACE("NaN of bits " + std::to_string(bits_of(nan)));
        expect_right(p);
    }
}

TEST_P(Attention, LogitsOfTenThousandAreExact) {
    AttentionProblem p = problem(6, 9);
    p.scale = 1e4f;
    expect_right(p);
}

} // namespace
} // namespace attune::test::attention_test
