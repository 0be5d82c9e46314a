// The merge of two attention results: every schedule.
#include <cmath>

#include "attune/attune.hpp"
#include "compare.h"
#include "kernels.h"
#include "merge_oracle.h"
#include "random.h"

namespace attune::test {
namespace {

class MergeTest : public SeededTestWithParam<const attune_kernel *> {
protected:
    PartialResult result(const Extents &extents, const Layout &layout = {}, double deviation = 2) {
        PartialResult r{Tensor<float>(extents, layout), Tensor<float>({extents[0], extents[1], extents[2]})};
        random.fill_normal(r.out);
        random.fill_normal(r.lse, deviation);
        return r;
    }
    Status call(const PartialResult &a, const PartialResult &b, const PartialResult &to) const {
        return merge({a.out.view(), a.lse.view()}, {b.out.view(), b.lse.view()}, {to.out.view(), to.lse.view()}, GetParam()->schedule);
    }
    PartialResult run(const PartialResult &a, const PartialResult &b) const {
        const PartialResult to{Tensor<float>(a.out.extent, {{}, 3}), Tensor<float>(a.lse.extent, {{}, 2})};
        const Status status = call(a, b, to);
        EXPECT_TRUE(status.ok()) << status.message;
        EXPECT_TRUE(to.out.canaries_intact() && to.lse.canaries_intact());
        return to;
    }
    void expect_right(const PartialResult &a, const PartialResult &b, double finite_share = 0.5) const {
        const PartialResult got = run(a, b);
        const MergedResult exact = merge_in_double(a, b);
        EXPECT_TRUE(agrees(to_double(got.out), exact.out, {1e-6, 2, largest_magnitude(exact.out)}, finite_share));
        EXPECT_TRUE(agrees(to_double(got.lse), exact.lse, {5e-7, 2, 0}, finite_share));
    }
};

TEST_P(MergeTest, AnyShape) {
    for (int64_t width : {1, 7, 16, 17, 64, 80})
        for (int64_t tokens : {1, 5, 64, 65, 130})
            expect_right(result({2, 3, tokens, width}), result({2, 3, tokens, width}));
}

TEST_P(MergeTest, LayoutsOfTheirOwn) {
    expect_right(result({2, 3, 9, 20}, Layout::tokens_first(5)), result({2, 3, 9, 20}, {{2, 0, 1, 3}, 1}));
    PartialResult shared = result({1, 3, 9, 20});
    shared.out = shared.out.broadcast({4, 3, 9, 20}), shared.lse = shared.lse.broadcast({4, 3, 9});
    expect_right(shared, result({4, 3, 9, 20}));
}

TEST_P(MergeTest, FarApartOrAlike) {
    expect_right(result({2, 3, 9, 20}, {}, 1000), result({2, 3, 9, 20}, {}, 1000));
    PartialResult a = result({2, 3, 9, 20}), b = result({2, 3, 9, 20});
    b.lse = a.lse.clone();
    expect_right(a, b);
    a.lse.each([](float &lse) { lse = 3e38f; });
    expect_right(a, b);
}

TEST_P(MergeTest, NoKeyIsTheIdentity) {
    const PartialResult a = result({1, 2, 70, 20}), nothing = result({1, 2, 70, 20});
    a.out(0, 0, 3, 5) = -0.0f, a.out(0, 1, 60, 19) = -1e-42f, a.lse(0, 0, 3) = -0.0f, a.lse(0, 1, 4) = 1e-42f;
    nothing.lse.fill(-INFINITY);
    nothing.out.fill(NAN); // whatever is there
    for (const PartialResult &got : {run(a, nothing), run(nothing, a)}) {
        EXPECT_TRUE(same_bits(got.out, a.out));
        EXPECT_TRUE(same_bits(got.lse, a.lse));
    }
    const PartialResult both = run(nothing, nothing);
    EXPECT_EQ(both.out.values(), std::vector<float>(2 * 70 * 20, 0));
    EXPECT_EQ(both.lse.values(), std::vector<float>(2 * 70, -INFINITY));
}

TEST_P(MergeTest, NaNShows) {
    PartialResult a = result({1, 1, 20, 33}), b = result({1, 1, 20, 33});
    a.lse(0, 0, 2) = NAN, b.lse(0, 0, 5) = NAN, b.lse(0, 0, 7) = -INFINITY, a.lse(0, 0, 7) = NAN;
    a.out(0, 0, 11, 3) = NAN, b.out(0, 0, 12, 32) = NAN;
    expect_right(a, b);
    a.lse(0, 0, 13) = 0, b.lse(0, 0, 13) = -300, b.out(0, 0, 13, 1) = NAN; // its weight is 0 in f32, and yet it was attended to
    EXPECT_TRUE(std::isnan(run(a, b).out(0, 0, 13, 1)));
}

TEST_P(MergeTest, OrderDoesNotMatter) {
    const PartialResult a = result({2, 3, 500, 4}), b = result({2, 3, 500, 4});
    EXPECT_TRUE(same_bits(run(a, b).lse, run(b, a).lse));
}

TEST_P(MergeTest, InThePlaceOfEitherPart) {
    for (int out_of : {0, 1})
        for (int lse_of : {0, 1}) {
            const PartialResult parts[] = {result({2, 3, 70, 20}), result({2, 3, 70, 20})};
            const PartialResult apart = run(parts[0], parts[1]), to{parts[out_of].out, parts[lse_of].lse};
            const Status status = call(parts[0], parts[1], to);
            ASSERT_TRUE(status.ok()) << status.message;
            EXPECT_TRUE(same_bits(to.out, apart.out));
            EXPECT_TRUE(same_bits(to.lse, apart.lse));
        }
}

TEST_P(MergeTest, NothingToDo) {
    for (const Extents &extents : {Extents{0, 2, 3, 4}, {2, 0, 3, 4}, {2, 3, 0, 4}})
        EXPECT_TRUE(run(result(extents), result(extents)).out.untouched());
}

// The two halves of the keys, merged, give what all keys give.
TEST_P(MergeTest, JoinsAttentionOverHalves) {
    if (kernels_of("attention").empty()) GTEST_SKIP() << "no attention is linked in";
    const Tensor<float> q({1, 2, 9, 16}), k({1, 2, 40, 16}), v({1, 2, 40, 16});
    random.fill_normal(q), random.fill_normal(k), random.fill_normal(v);
    const auto attend = [&](int64_t first, int64_t count) {
        const PartialResult r{Tensor<float>({1, 2, 9, 16}), Tensor<float>({1, 2, 9})};
        Tensor<float> keys = k, values = v;
        for (Tensor<float> *part : {&keys, &values})
            part->extent[2] = count, part->first += first * part->stride[2];
        AttentionArgs args(q.view(), keys.view(), values.view(), r.out.view());
        const attune_tensor lse = r.lse.view();
        args.lse = &lse;
        AttentionDesc desc;
        desc.head_dim = 16;
        const Result<AttentionPlan> plan = AttentionPlan::create(desc);
        EXPECT_TRUE(plan.ok() && plan.value().run(args).ok());
        return r;
    };
    const PartialResult whole = attend(0, 40), merged = run(attend(0, 13), attend(13, 27));
    EXPECT_TRUE(agrees(to_double(merged.out), to_double(whole.out), {2e-6}));
    EXPECT_TRUE(agrees(to_double(merged.lse), to_double(whole.lse), {2e-6}));
}

ATTUNE_FOR_EACH_KERNEL(MergeTest, "merge");

} // namespace
} // namespace attune::test
