// Decoding: every group of query heads, queries from 1 to 12, and key counts around chunks and panels, against the oracle; the same bits
// for every number of threads and in every batch; and what no row may attend to isn't even read.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "attention_test.h"
#include "fenced.h"
#include "half.h"

namespace attune::test {
namespace {

constexpr int64_t chunk = 512, panel = 16, short_panel = 8; // keys, as schedules/tuned has them

std::vector<const attune_kernel *> decode_kernels() {
    std::vector<const attune_kernel *> kernels = kernels_of("attention");
    const auto other = [](const attune_kernel *kernel) { return std::string_view(kernel->schedule) != "decode"; };
    kernels.erase(std::remove_if(kernels.begin(), kernels.end(), other), kernels.end());
    return kernels;
}

class Decode : public AttentionTest {
protected:
    AttentionRun run(const AttentionProblem &p, int32_t threads = 1) {
        return run_attention(kernel(), p, {true, false, {}, Call(threads)});
    }

    void expect_same_bits(const AttentionRun &got, const AttentionRun &want) {
        ASSERT_TRUE(got.status.ok()) << got.status.message;
        EXPECT_TRUE(same_bits(got.out, want.out));
        EXPECT_TRUE(same_bits(got.lse, want.lse));
    }

    /** The same of other widths, if none is compiled in. */
    AttentionShape shape_of(int64_t dim, int64_t value_dim, AttentionShape s) const {
        s.dim = head_dim_or(kernel(), dim), s.value_dim = value_dim_or(kernel(), value_dim);
        return s;
    }

    /** From some key on; what lies before and after is memory that can't be read, by pages. */
    void expect_reads_only_keys_up_to(int64_t end, int64_t dim);

    /** Of several chunks, with everything that a run may ask for. */
    AttentionProblem rich_problem(int64_t queries) {
        AttentionProblem p = problem(queries, 3 * chunk - 100, 2, 8, 2);
        p.mask = "causal(bottom_right) & window(1200, 0, bottom_right) | prefix(3)";
        p.key_lengths = {p.keys(), p.keys() - 700};
        p.boolean_mask = boolean_mask({2, 1, queries, p.keys()}), p.bias = bias({1, 8, queries, p.keys()});
        p.softcap = 5, p.temperature = 0.7f, p.alibi = true, p.alignment = "bottom_right";
        p.sinks = bias({8}), p.dropout = 0.2f, p.seed = 0x123456789;
        return p;
    }
};

void Decode::expect_reads_only_keys_up_to(int64_t end, int64_t dim) {
    const int64_t keys = 8 * chunk, first = 3 * chunk + 100;
    const Fenced k(keys * dim, first * dim, end * dim), v(keys * dim, first * dim, end * dim);
    const Tensor<float> q({1, 2, 1, dim}), out({1, 2, 1, dim});
    random.fill_normal(q, 1);
    AttentionDesc desc;
    desc.head_dim = desc.value_dim = dim, desc.schedule = kernel().schedule;
    desc.mask = "!prefix(" + std::to_string(first) + ") & prefix(" + std::to_string(end) + ")";
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    ASSERT_TRUE(plan.ok()) << plan.status().message;
    const TensorView keys_view(k.data(), {1, 1, keys, dim}), values_view(v.data(), {1, 1, keys, dim});
    const Status status = plan->run(AttentionArgs(q.view(), keys_view, values_view, out.view()));
    ASSERT_TRUE(status.ok()) << status.message;
    for (float value : out.values())
        EXPECT_NEAR(value, 0.5f, 1e-6f);
}

INSTANTIATE_TEST_SUITE_P(Prebuilt, Decode, ::testing::ValuesIn(decode_kernels()), kernel_name);

TEST_P(Decode, EveryGroupAndNumberOfQueries) {
    for (int64_t group : {1, 2, 4, 5, 8, 16})
        for (int64_t queries : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12})
            expect_right_and_accurate(shape(queries, 70, 1, 2 * group, 2));
}

// Widths around what fills vectors, two of them, and passes over several; one row a key, and several.
TEST_P(Decode, EveryWidth) {
    for (int64_t dim :
         {1, 15, 16, 17, 31, 32, 33, 47, 48, 63, 65, 72, 80, 95, 96, 100, 112, 129, 144, 160, 176, 200, 208, 224, 256, 272, 336, 576})
        for (int64_t group : {1, 5})
            expect_right_and_accurate(shape_of(dim, dim == 576 ? 512 : dim, shape(1, 70, 1, 2 * group, 2)));
}

TEST_P(Decode, AroundChunksAndPanels) {
    for (int64_t keys : {int64_t{0}, int64_t{1}, short_panel - 1, short_panel, short_panel + 1, 4 * short_panel + 1, panel - 1, panel,
                         panel + 1, 4 * panel, 4 * panel + 1, chunk - 1, chunk, chunk + 1, 3 * chunk, 3 * chunk + 17})
        for (int64_t heads : {1, 3})
            expect_right(problem(1, keys, 2, heads, 1), {keys > 0, keys > 0 ? 0.5 : 0});
}

TEST_P(Decode, EveryArgumentAtOnce) {
    for (int64_t queries : {1, 3}) {
        expect_right(rich_problem(queries));
    }
}

TEST_P(Decode, ThreadsChangeNoBit) {
    for (int64_t queries : {1, 5}) {
        const AttentionProblem p = rich_problem(queries);
        const AttentionRun one = run(p);
        for (int32_t threads : {2, 3, 7})
            expect_same_bits(run(p, threads), one);
    }
}

TEST_P(Decode, AnItemsResultIsItsOwn) {
    const AttentionProblem p = problem(2, 2 * chunk + 60, 3, 4, 2);
    const AttentionRun all = run(p, 2);
    ASSERT_TRUE(all.status.ok()) << all.status.message;
    const std::vector<float> out = all.out.values(), lse = all.lse.values();
    for (int64_t item = 0; item < 3; item++) {
        const AttentionRun alone = run(batch_item(p, item));
        const auto part = [&](const std::vector<float> &of_all) {
            const auto count = static_cast<std::ptrdiff_t>(of_all.size() / 3);
            return std::vector<float>(of_all.begin() + item * count, of_all.begin() + (item + 1) * count);
        };
        EXPECT_TRUE(same_bits(alone.out.values(), part(out))) << item;
        EXPECT_TRUE(same_bits(alone.lse.values(), part(lse))) << item;
    }
}

TEST_P(Decode, WhatIsMaskedInAChunkChangesNoBit) {
    for (int64_t dim : {12, 90, 208}) {
        AttentionProblem p = normal_problem(shape_of(dim, dim, shape(2, 2 * chunk, 1, 4, 2)), random);
        p.boolean_mask = boolean_mask({1, 1, 1, p.keys()});
        const AttentionRun clean = run(p);
        AttentionProblem spoilt = p;
        spoilt.k = p.k.clone(), spoilt.v = p.v.clone();
        for (int64_t j = 0; j < p.keys(); j++)
            for (int64_t h = 0; h < 2 && !(*p.boolean_mask)(0, 0, 0, j); h++) {
                for (int64_t d = 0; d < p.dim(); d++)
                    spoilt.k(0, h, j, d) = j % 2 ? NAN : INFINITY;
                for (int64_t d = 0; d < p.value_dim(); d++)
                    spoilt.v(0, h, j, d) = j % 3 ? NAN : -INFINITY;
            }
        expect_same_bits(run(spoilt), clean);
    }
}

TEST_P(Decode, KeysOutsideEveryIntervalArentRead) {
    // The last key's last channel of these ends a page of memory, whole panels or not.
    for (auto [any_width, end] : {std::pair<int64_t, int64_t>{256, 5 * chunk + 76},
                                  {112, 5 * chunk + 128},
                                  {80, 5 * chunk + 128},
                                  {72, 5 * chunk + 128},
                                  {24, 5 * chunk + 128},
                                  {8, 5 * chunk + 128}})
        expect_reads_only_keys_up_to(end, head_dim_or(kernel(), any_width));
}

/** Attention of a group of heads, tensors of 16 bits beside pages that can't be read; its last keys are masked and hold NaN. */
std::vector<double> between_walls(const char *schedule, attune_type type, int64_t dim, int64_t group, bool at_end) {
    const int64_t heads = 2, keys = 37, kept = 32;
    Random random(1);
    const auto walled = [&](const Extents &extents) {
        const Tensor<float> numbers(extents);
        random.fill_normal(numbers);
        for (int64_t head = 0; extents[2] == keys && head < heads; head++)
            for (int64_t key = kept; key < keys; key++)
                for (int64_t d = 0; d < dim; d++)
                    numbers(0, head, key, d) = NAN;
        const HalfTensor half(type, numbers);
        auto memory = std::make_unique<Walled>(2 * numbers.elements(), at_end);
        std::memcpy(memory->data(), half.bits.data(), 2 * half.bits.size());
        return memory;
    };
    const auto q = walled({1, heads * group, 1, dim}), k = walled({1, heads, keys, dim}), v = walled({1, heads, keys, dim});
    const auto out = walled({1, heads * group, 1, dim});
    std::vector<uint8_t> attends(static_cast<size_t>(keys), 1);
    std::fill(attends.begin() + kept, attends.end(), uint8_t{0});
    const attune_tensor mask = TensorView(attends.data(), ATTUNE_BOOL, {1, 1, 1, keys});
    AttentionDesc desc;
    desc.head_dim = desc.value_dim = dim, desc.dtype = type, desc.schedule = schedule;
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    EXPECT_TRUE(plan.ok()) << plan.status().message;
    AttentionArgs args(TensorView(q->data(), type, {1, heads * group, 1, dim}), TensorView(k->data(), type, {1, heads, keys, dim}),
                       TensorView(v->data(), type, {1, heads, keys, dim}), TensorView(out->data(), type, {1, heads * group, 1, dim}));
    args.boolean_mask = &mask;
    const Status status = plan->run(args);
    EXPECT_TRUE(status.ok()) << status.message;
    std::vector<double> results;
    for (int64_t i = 0; i < heads * group * dim; i++)
        results.push_back(half_value(type, static_cast<const uint16_t *>(out->data())[i]));
    return results;
}

class OfSixteenBits : public ::testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Attention, OfSixteenBits, ::testing::Values("decode", "flash"), [](const auto &info) { return info.param; });

TEST_P(OfSixteenBits, ReadsNothingBesideItsTensors) {
    for (attune_type type : {ATTUNE_BF16, ATTUNE_F16})
        for (int64_t dim : {1, 8, 12, 16, 24, 33, 48, 64, 72, 77, 80, 90, 96, 112, 128, 144, 176})
            for (int64_t group : {1, 4, 6}) {
                const std::vector<double> begins = between_walls(GetParam(), type, dim, group, false);
                EXPECT_EQ(begins, between_walls(GetParam(), type, dim, group, true)) << dim;
                EXPECT_TRUE(std::all_of(begins.begin(), begins.end(), [](double x) { return std::isfinite(x); })) << dim;
            }
}

// Up to how many queries of a type, over a cache of a type, are decoded over 8 keys for each, and over 32. Where pairs or tiles multiply
// bf16, flash attention gains more by them; in decoding tiles, which some widths fill, multiply 16 rows at once.
std::pair<int64_t, int64_t> most_decoded(attune_type type, attune_type cache_type, int64_t dim) {
    const std::string_view cpu = attune_cpu_class();
    const bool has_tiles = cpu == "avx512_amx", has_pairs = cpu == "avx512_bf16" || cpu == "avx512_zen5";
    if (type != ATTUNE_BF16 || !(has_tiles || has_pairs)) return {8, 12};
    if (cache_type == ATTUNE_I8) return {8, 8};
    if (has_pairs) return {8, 10};
    return dim % 64 == 0 ? std::pair<int64_t, int64_t>{16, 16} : std::pair<int64_t, int64_t>{8, 8};
}

TEST(DecodeChoice, IsMadeUpToSoManyQueries) {
    for (const auto &[type, cache_type] : {std::pair{ATTUNE_F32, ATTUNE_F32},
                                           {ATTUNE_F16, ATTUNE_F16},
                                           {ATTUNE_BF16, ATTUNE_BF16},
                                           {ATTUNE_F32, ATTUNE_I8},
                                           {ATTUNE_F16, ATTUNE_I8},
                                           {ATTUNE_BF16, ATTUNE_I8}})
        for (int64_t dim : {64, 128, 192, 80, 96}) {
            AttentionDesc desc;
            desc.head_dim = desc.value_dim = dim, desc.dtype = type, desc.cache_dtype = cache_type;
            const Result<AttentionPlan> plan = AttentionPlan::create(desc);
            ASSERT_TRUE(plan.ok()) << plan.status().message;
            const auto [over_few_keys, most] = most_decoded(type, cache_type, dim);
            for (int64_t heads : {8, 1}) { // whatever the group
                const auto expect = [&](const char *schedule, int64_t queries, int64_t keys) {
                    EXPECT_STREQ(plan->kernel_for(queries, 8, heads, keys)->schedule, schedule)
                        << type << " over " << cache_type << " of " << dim << ", " << queries << " queries, " << keys << " keys";
                };
                expect("decode", over_few_keys, 8 * over_few_keys);
                expect("flash", over_few_keys, 8 * over_few_keys - 1);
                expect("decode", most, 32 * most);
                if (most > over_few_keys) expect("flash", most, 32 * most - 1);
                for (int64_t queries = 1; queries <= 17; queries++)
                    expect(queries <= most ? "decode" : "flash", queries, 4096);
            }
        }
}

TEST(DecodeChoice, IsMadeForFewQueries) {
    AttentionDesc desc;
    desc.head_dim = desc.value_dim = 80;
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    ASSERT_TRUE(plan.ok()) << plan.status().message;
    EXPECT_STREQ(plan->kernel_for(1, 32, 32, 64)->schedule, "decode");
    EXPECT_STREQ(plan->kernel_for(1, 32, 8, 64)->schedule, "decode");
    EXPECT_STREQ(plan->kernel_for(128, 8, 8, 64)->schedule, "flash");
    EXPECT_EQ(plan->kernel_for(1, 3, 2, 64), nullptr);
    EXPECT_EQ(plan->kernel_for(1, 2, 2, int64_t{1} << 31), nullptr);
    EXPECT_STREQ(plan->kernel().schedule, "flash");
    for (const char *named : {"decode", "flash"}) {
        desc.schedule = named;
        const Result<AttentionPlan> by_name = AttentionPlan::create(desc);
        ASSERT_TRUE(by_name.ok()) << by_name.status().message;
        EXPECT_STREQ(by_name->kernel_for(1, 8, 8, 64)->schedule, named);
        EXPECT_STREQ(by_name->kernel_for(1024, 8, 8, 64)->schedule, named);
    }
    AttentionDesc compiled_in;
    compiled_in.head_dim = compiled_in.value_dim = 64;
    const Result<AttentionPlan> of_64 = AttentionPlan::create(compiled_in);
    ASSERT_TRUE(of_64.ok()) << of_64.status().message;
    EXPECT_STREQ(of_64->kernel_for(8, 32, 1, 64)->schedule, "decode");
    EXPECT_STREQ(of_64->kernel_for(13, 8, 8, 1024)->schedule, "flash");
    EXPECT_STREQ(of_64->kernel_for(8, 8, 8, 63)->schedule, "flash"); // a short prompt
    EXPECT_STREQ(of_64->kernel_for(2, 8, 8, 2)->schedule, "decode");
}

} // namespace
} // namespace attune::test
