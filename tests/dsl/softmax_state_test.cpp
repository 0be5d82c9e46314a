// The softmax state is a monoid: the states of disjoint sets of scores, merged in any grouping, give the state of them all.
#include <cmath>

#include "bits.h"
#include "compare.h"
#include "dsl/softmax.h"
#include "random.h"

namespace attune::test::softmax_state_test {
namespace {

using Halide::Buffer;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

constexpr int keys = 40, channels = 3, parts = 4;

/** States, one for each value of `set`: maximum(set), sum(set), output(channel, set). */
struct States {
    Func maximum, sum, output;
};

class SoftmaxState : public SeededTest {
protected:
    const Var set{"set"}, channel{"channel"};
    const float temperature = 0.7f;
    const Expr scale = dsl::base2_scale(temperature);
    Buffer<float> score{keys}, value{channels, keys};
    Buffer<int32_t> part{keys};

    void SetUp() override {
        for (int j = 0; j < keys; j++) {
            score(j) = random.chance(0.1) ? -infinity : float(random.normal(4));
            part(j) = int(random.between(0, parts - 2)); // the last part is empty
            for (int c = 0; c < channels; c++)
                value(c, j) = float(random.normal());
        }
    }

    /** The state of the keys for which `in_set` holds. */
    States of_scores(const std::function<Expr(Expr key)> &in_set) {
        States s{Func("maximum"), Func("sum"), Func("output")};
        RDom j(0, keys);
        j.where(in_set(j));
        s.maximum(set) = -infinity;
        s.maximum(set) = max(s.maximum(set), score(j));
        Expr weight = dsl::relative_weight(score(j), s.maximum(set), scale);
        s.sum(set) = 0.0f;
        s.sum(set) += weight;
        s.output(channel, set) = 0.0f;
        s.output(channel, set) += weight * value(channel, j);
        for (Func f : {s.maximum, s.sum, s.output})
            f.compute_root();
        return s;
    }

    /** States set and other(set) of `s`, merged. */
    States merged(const States &s, const Expr &other) {
        States m{Func("merged_maximum"), Func("merged_sum"), Func("merged_output")};
        m.maximum(set) = max(s.maximum(set), s.maximum(other));
        Expr kept = dsl::relative_weight(s.maximum(set), m.maximum(set), scale);
        Expr added = dsl::relative_weight(s.maximum(other), m.maximum(set), scale);
        m.sum(set) = s.sum(set) * kept + s.sum(other) * added;
        m.output(channel, set) = s.output(channel, set) * kept + s.output(channel, other) * added;
        for (Func f : {m.maximum, m.sum, m.output})
            f.compute_root();
        return m;
    }

    std::vector<double> values(const States &s, int index) {
        Func all("all");
        Var i("i");
        const Expr state = index;
        all(i) = select(i == 0, s.maximum(state), i == 1, s.sum(state), i == 2,
                        dsl::log_sum_exp(s.maximum(state), s.sum(state), temperature), s.output(clamp(i - 3, 0, channels - 1), state));
        const Buffer<float> result = all.realize({3 + channels});
        return {result.begin(), result.end()};
    }

    /** The same in float64. */
    template <typename F> std::vector<double> exact(F in_set) const {
        std::vector<double> s(3 + channels, 0);
        s[0] = -infinity;
        for (int j = 0; j < keys; j++)
            if (in_set(j)) s[0] = std::max(s[0], double(score(j)));
        for (int j = 0; j < keys; j++) {
            if (!in_set(j) || score(j) == -infinity) continue;
            const double weight = std::exp((score(j) - s[0]) / temperature);
            s[1] += weight;
            for (int c = 0; c < channels; c++)
                s[3 + c] += weight * value(c, j);
        }
        s[2] = s[0] / temperature + std::log(s[1]);
        return s;
    }

    Tolerance few_ulps() const { return {3e-6, 8, 0}; }
};

TEST_F(SoftmaxState, PartsMergeIntoTheWhole) {
    const States by_part = of_scores([this](const Expr &j) { return part(j) == set; });
    // ((0, 1), (2, 3)): even sets merge with the next, then set 0 with set 2.
    const States all = merged(merged(by_part, min(set + 1, parts - 1)), min(set + 2, parts - 1));
    EXPECT_TRUE(agrees(values(all, 0), exact([](int) { return true; }), few_ulps()));
}

TEST_F(SoftmaxState, OrderOfMergingDoesNotMatter) {
    const States by_part = of_scores([this](const Expr &j) { return part(j) == set; });
    const std::vector<double> forth = values(merged(by_part, 1 - min(set, 1)), 0), back = values(merged(by_part, 1 - min(set, 1)), 1);
    EXPECT_EQ(forth, back);
}

TEST_F(SoftmaxState, EmptySetIsTheIdentity) {
    const int empty = parts - 1;
    const States by_part = of_scores([this](const Expr &j) { return part(j) == set; });
    const std::vector<double> identity = values(by_part, empty);
    EXPECT_EQ(identity[0], -infinity);
    EXPECT_EQ(identity[1], 0);
    EXPECT_EQ(identity[2], -infinity);
    const States with_identity = merged(by_part, empty);
    for (int s = 0; s < parts; s++)
        EXPECT_EQ(values(with_identity, s), values(by_part, s)) << "set " << s;
}

TEST_F(SoftmaxState, SetOfMaskedScoresIsTheIdentity) {
    score.fill(-infinity);
    const std::vector<double> state = values(of_scores([this](const Expr &j) { return part(j) == set; }), 0);
    EXPECT_EQ(state, (std::vector<double>{-infinity, 0, -infinity, 0, 0, 0}));
}

} // namespace
} // namespace attune::test::softmax_state_test
