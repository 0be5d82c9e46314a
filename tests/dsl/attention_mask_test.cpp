// Masks that are compiled in: each as it stands, together with the run-time mask, and parameters known at run time only.
#include <memory>

#include "jit_attention.h"

namespace attune::test::attention_mask_test {
namespace {

class CompiledMask : public SeededTest {
protected:
    /** Declares attention with `mask` compiled in. */
    static std::unique_ptr<JitAttention> with(const dsl::Mask &mask) {
        auto jit = std::make_unique<JitAttention>(0, mask);
        jit->declare({3, 2, 12, 4, 1});
        jit->compute_all_at_root();
        jit->compile(Halide::get_host_target());
        return jit;
    }

    /** Expects what the predicate `allows(b, h, i, j)` says, and the problem's own mask. */
    template <typename F> void expect_right(JitAttention &jit, F allows) {
        AttentionProblem meant = p;
        meant.boolean_mask = Tensor<uint8_t>({p.batch(), p.query_heads(), p.queries(), p.keys()});
        for (int64_t b = 0; b < p.batch(); b++)
            for (int64_t h = 0; h < p.query_heads(); h++)
                for (int64_t i = 0; i < p.queries(); i++)
                    for (int64_t j = 0; j < p.keys(); j++)
                        (*meant.boolean_mask)(b, h, i, j) = allows(b, h, i, j);
        expect_exact(jit.run(p), meant);
    }

    AttentionProblem p = normal_problem({2, 4, 2, 14, 29, 5, 6}, random);
};

TEST_F(CompiledMask, AppliesTogetherWithRunTimeIntervals) {
    Halide::Param<int32_t> offset;
    offset.set(8);
    const auto jit = with(dsl::causal(offset) & !dsl::prefix(1));
    expect_right(*jit, [](int, int, int i, int j) { return j >= 1 && j <= i + 8; });
    p.mask = "window(8, 3) | prefix(2)";
    p.offset = 7;
    p.key_lengths = {29, 15};
    expect_right(*jit, [](int, int, int i, int j) { return j >= 1 && j <= i + 8; });
    offset.set(-5);
    expect_right(*jit, [](int, int, int i, int j) { return j >= 1 && j <= i - 5; });
}

TEST_F(CompiledMask, OfAUsersLambdaMayDependOnHeadAndBatch) {
    const auto jit =
        with(dsl::Mask([](const dsl::Cell &c) { return (c.query - c.key) % (c.head + 1) == 0 && (c.batch == 0 || c.key > 3); }));
    expect_right(*jit, [](int b, int h, int i, int j) { return (i - j) % (h + 1) == 0 && (b == 0 || j > 3); });
}

TEST_F(CompiledMask, TakesParametersAtRunTime) {
    Halide::Param<int32_t> left, right, offset;
    left.set(5), right.set(-1), offset.set(2);
    const auto jit = with(dsl::window(left, right, offset));
    expect_right(*jit, [](int, int, int i, int j) { return j >= i + 2 - 5; });
    left.set(-1), right.set(3);
    expect_right(*jit, [](int, int, int i, int j) { return j <= i + 2 + 3; });
}

} // namespace
} // namespace attune::test::attention_mask_test
