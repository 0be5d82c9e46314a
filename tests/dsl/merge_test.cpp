// The merge as declared: it is the merge of the softmax states that the two results came from.
#include "dsl/merge.h"

#include <cmath>

#include "bits.h"
#include "compare.h"
#include "jit_attention.h"
#include "merge_oracle.h"
#include "random.h"

namespace attune::test::merge_test {
namespace {

/** The declaration, compiled once. */
class JitMerge {
public:
    JitMerge() {
        const dsl::Merge m = dsl::merge(out_[0], lse_[0], out_[1], lse_[1]);
        Halide::Func(m.factors).compute_root();
        pipeline_ = Halide::Pipeline({m.output, m.lse});
    }

    PartialResult run(const PartialResult &a, const PartialResult &b) {
        for (auto [part, of] : {std::pair(0, &a), {1, &b}})
            out_[part].set(buffer_of(of->out)), lse_[part].set(buffer_of(of->lse));
        PartialResult to{Tensor<float>(a.out.extent), Tensor<float>(a.lse.extent)};
        pipeline_.realize(Halide::Realization({buffer_of(to.out), buffer_of(to.lse)}));
        return to;
    }

private:
    Halide::ImageParam out_[2] = {{Halide::Float(32), 4}, {Halide::Float(32), 4}};
    Halide::ImageParam lse_[2] = {{Halide::Float(32), 3}, {Halide::Float(32), 3}};
    Halide::Pipeline pipeline_;
};

class Merge : public SeededTest {
protected:
    PartialResult result(double deviation) {
        PartialResult r{Tensor<float>({2, 3, 5, 4}), Tensor<float>({2, 3, 5})};
        random.fill_normal(r.out), random.fill_normal(r.lse, deviation);
        return r;
    }
    PartialResult run(const PartialResult &a, const PartialResult &b) {
        static JitMerge compiled;
        return compiled.run(a, b);
    }
};

TEST_F(Merge, AgreesWithFloat64) {
    for (double deviation : {0.0, 1.0, 30.0, 1e4}) {
        const PartialResult a = result(deviation), b = result(deviation), got = run(a, b);
        const MergedResult exact = merge_in_double(a, b);
        EXPECT_TRUE(agrees(to_double(got.out), exact.out, {1e-6, 2, 0}));
        EXPECT_TRUE(agrees(to_double(got.lse), exact.lse, {5e-7, 2, 0}));
    }
}

TEST_F(Merge, NaNOfEveryKindShows) {
    for (float nan : all_kinds_of_nan()) {
        const PartialResult a = result(1), b = result(1);
        a.lse(0, 0, 0) = nan, b.lse(0, 1, 0) = nan, b.lse(0, 2, 0) = nan, a.lse(0, 2, 0) = -infinity;
        const PartialResult got = run(a, b);
        for (int head = 0; head < 3; head++) {
            EXPECT_TRUE(std::isnan(got.lse(0, head, 0)));
            for (int d = 0; d < 4; d++)
                EXPECT_TRUE(std::isnan(got.out(0, head, 0, d)));
        }
    }
}

TEST_F(Merge, IsAssociative) {
    const PartialResult a = result(2), b = result(2), c = result(2);
    const PartialResult left = run(run(a, b), c), right = run(a, run(b, c));
    EXPECT_TRUE(agrees(to_double(left.out), to_double(right.out), {2e-6}));
    EXPECT_TRUE(agrees(to_double(left.lse), to_double(right.lse), {2e-6}));
}

} // namespace
} // namespace attune::test::merge_test
