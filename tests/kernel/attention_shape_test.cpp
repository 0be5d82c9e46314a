// Every attention kernel at sizes around its tiles, at awkward widths, with grouped heads and in strided memory.
#include "attention_test.h"

namespace attune::test {
namespace {

ATTUNE_ATTENTION_SUITE(AttentionShapes);

TEST_P(AttentionShapes, SmallQueriesAndKeys) {
    for (int64_t queries : {1, 11, 12, 13, 24, 25, 33})
        for (int64_t keys : {1, 2, 11, 12, 13, 16, 31, 32, 33})
            expect_right_and_accurate(shape(queries, keys));
}

TEST_P(AttentionShapes, AroundTheTiles) {
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{47, 48}, {48, 49}, {95, 97}, {96, 96}, {97, 95}, {1, 129}, {129, 1}})
        expect_right_and_accurate(shape(queries, keys, 1, 1, 1));
}

TEST_P(AttentionShapes, AroundLargeTiles) {
    if (is_reference(kernel())) GTEST_SKIP() << "its loops have no tile";
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{383, 33}, {384, 385}, {33, 767}, {13, 768}, {769, 25}, {385, 769}})
        expect_right_and_accurate(shape(queries, keys, 1, 1, 1));
}

TEST_P(AttentionShapes, HeadDims) {
    for (int64_t dim : head_dims(kernel()))
        for (auto [queries, keys] : {std::pair<int64_t, int64_t>{1, 1}, {13, 33}, {50, 97}}) {
            AttentionShape s = shape(queries, keys);
            s.dim = dim, s.value_dim = value_dim_or(kernel(), dim);
            expect_right_and_accurate(s);
        }
}

TEST_P(AttentionShapes, ValueDims) {
    for (auto [dim, value_dim] : {std::pair<int64_t, int64_t>{1, 7}, {7, 1}, {16, 80}, {64, 128}, {128, 64}, {256, 16}, {80, 33}}) {
        AttentionShape s = shape(25, 50);
        s.dim = head_dim_or(kernel(), dim), s.value_dim = value_dim_or(kernel(), value_dim);
        expect_right_and_accurate(s);
    }
}

TEST_P(AttentionShapes, HeadsInGroups) {
    for (auto [query_heads, key_heads] : {std::pair<int64_t, int64_t>{1, 1}, {4, 1}, {4, 2}, {6, 3}, {8, 8}, {32, 4}})
        for (auto [queries, keys] : {std::pair<int64_t, int64_t>{1, 33}, {13, 25}})
            expect_right_and_accurate(shape(queries, keys, 2, query_heads, key_heads));
}

TEST_P(AttentionShapes, PaddedRowsOfCanaries) {
    for (const Layout &layout : {Layout::heads_first(5), Layout::tokens_first(), Layout::tokens_first(3)}) {
        const AttentionProblem p = normal_problem(shape(25, 49, 2, 4, 2), random, layout);
        expect_matches_oracle(kernel(), p, {true}, {true, true, layout, Call()});
    }
}

TEST_P(AttentionShapes, OneProjectionOfQueryKeyAndValue) {
    const int64_t dim = head_dim_or(kernel(), 20);
    AttentionProblem p;
    const auto [q, k, v] = packed_qkv(2, 3, 37, dim);
    for (const Tensor<float> &part : {q, k, v})
        random.fill_normal(part);
    p.q = q, p.k = k, p.v = v, p.mask = "causal";
    expect_right(p, {true});
}

TEST_P(AttentionShapes, InputsBroadcastOverAnyOuterAxis) {
    AttentionProblem p = problem(13, 33, 1, 1, 1);
    const int64_t dim = p.dim(), value_dim = p.value_dim();
    p.q = p.q.broadcast({3, 4, 13, dim});
    p.k = p.k.broadcast({3, 2, 33, dim}), p.v = p.v.broadcast({3, 2, 33, value_dim});
    expect_right(p);
    const AttentionProblem one_token = problem(1, 1);
    p.q = one_token.q.broadcast({1, 2, 13, dim});
    p.k = one_token.k.broadcast({1, 1, 33, dim}), p.v = one_token.v.broadcast({1, 1, 33, value_dim});
    expect_right(p);
}

TEST_P(AttentionShapes, TokensInReverse) {
    AttentionProblem p = problem(25, 49);
    const auto reverse = [](Tensor<float> &x) { x.first += (x.extent[2] - 1) * x.stride[2], x.stride[2] = -x.stride[2]; };
    reverse(p.q), reverse(p.k), reverse(p.v);
    p.mask = "causal", p.offset = 3;
    expect_right(p, {true});
}

} // namespace
} // namespace attune::test
