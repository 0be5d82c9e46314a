// Where what flash attention asks for ahead lies: keys and values a block further on.
#include "dsl/axes.h"
#include "dsl/in_place.h"
#include "jit_attention.h"
#include "random.h"
#include "targets.h"

#include <gtest/gtest.h>

namespace attune::test::memory_ahead_test {
namespace {

using namespace dsl::axes;

constexpr int tokens = 48, channels = 8, panel = 4, panels = 6; // of a block

/** With each panel of the first block, the key, and the value, whose memory is asked for: how many tokens they lie from the first in
 * memory, where an item's pages of so many tokens lie in reverse order. */
std::vector<std::pair<int64_t, int64_t>> asked_tokens(int page_tokens) {
    Random random(1);
    const AttentionProblem problem = normal_problem({1, 1, 1, 1, tokens, channels, channels}, random);
    JitAttention jit;
    dsl::AttentionInputs in = jit.inputs();
    const dsl::AttentionInputs whole = in;
    const Halide::Var place("place"), page("page");
    in.pages.size = page_tokens, in.pages.several = Halide::Internal::const_true();
    in.pages.place = Halide::Func("place_in_page"), in.pages.page = Halide::Func("page_of_token");
    in.pages.place(token) = token % page_tokens, in.pages.page(token, batch) = in.keys / page_tokens - 1 - token / page_tokens;
    for (const auto &[paged, all] : {std::pair{&in.pages.key, &whole.key}, {&in.pages.value, &whole.value}}) {
        *paged = Halide::Func("paged");
        (*paged)(dim, place, head, page) = (*all)(dim, page * page_tokens + place, head, 0);
    }
    dsl::Blocking blocking{1, 1, panels * panel, panel};
    blocking.asks_ahead = blocking.asks_with_products = true;
    const dsl::Attention attention = dsl::attention(in, blocking);
    const dsl::KeyRanges &r = attention.ranges;
    const dsl::Panels &p = attention.panels;
    for (Halide::Func f :
         {r.gap, r.of_tile, r.of_task, p.attend.words, p.bias.rows, p.facts, p.reach, p.joined, p.allowed_cells, p.kind, p.list})
        f.compute_root(); // what is defined in some places alone can't be inlined
    Halide::Pipeline pipeline(attention.ahead.block_ahead);
    dsl::lower_in_place(pipeline);
    jit.bind(problem);
    Halide::Buffer<uint64_t> key_at(panels, 1, 1, 1, 1), value_at(panels, 1, 1, 1, 1);
    pipeline.realize(Halide::Realization({key_at, value_at}), runnable_targets().back());
    std::vector<std::pair<int64_t, int64_t>> asked;
    const auto token_at = [](uint64_t address, const Tensor<float> &tensor) {
        return static_cast<int64_t>(address - reinterpret_cast<uint64_t>(tensor.data())) / int64_t(channels * sizeof(float));
    };
    for (int slot = 0; slot < panels; slot++)
        asked.emplace_back(token_at(key_at(slot, 0, 0, 0, 0), problem.k), token_at(value_at(slot, 0, 0, 0, 0), problem.v));
    return asked;
}

std::vector<std::pair<int64_t, int64_t>> both(const std::vector<int64_t> &tokens) {
    std::vector<std::pair<int64_t, int64_t>> pairs;
    for (int64_t t : tokens)
        pairs.emplace_back(t, t);
    return pairs;
}

TEST(MemoryAhead, IsWhereAPanelsPageHasIt) {
    EXPECT_EQ(asked_tokens(tokens), both({24, 28, 32, 36, 40, 44}));
    EXPECT_EQ(asked_tokens(16), both({16 + 8, 16 + 12, 0, 4, 8, 12}));
    EXPECT_EQ(asked_tokens(6), both({18, 18 + 4, 12 + 2, 6, 6 + 4, 2}));
}

/** Whose rows would be others', for the most part. */
TEST(MemoryAhead, IsThatOfTheBlocksFirstKeyWherePagesAreShorterThanHalfAPanel) {
    EXPECT_EQ(asked_tokens(1), both({23, 23, 23, 23, 23, 23}));
}

} // namespace
} // namespace attune::test::memory_ahead_test
