// What flash doesn't compute: tiles of scores in which nothing attends, and masks where they can't say no.
//
// That every panel which is needed is computed, the comparisons with float64 show; so it is enough to count them.
#include <atomic>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "attention_cells.h"
#include "flash.h"

namespace attune::test::skipping_test {
namespace {

std::atomic<int64_t> panels, dots, outputs, stores, key_copies, value_copies, packed_queries;

int32_t count_panel() { return int32_t(panels++); }
int32_t count_dot() { return int32_t(dots++); }
int32_t count_output() { return int32_t(outputs++); }
int32_t count_store() { return int32_t(stores++); }
int32_t count_key_copy() { return int32_t(key_copies++); }
int32_t count_value_copy() { return int32_t(value_copies++); }
int32_t count_packed_query() { return int32_t(packed_queries++); }

/** Counts, in the finished code: panels of dot products computed, stores into their sums, into those of weights times values but for
 * what these begin with, into the scores, into copies of keys and values, and into packed queries. Halide's own tracing would not do: a
 * traced Func has an effect, and what has an effect isn't skipped. */
class Counting : public Halide::Internal::IRMutator {
    using Halide::Internal::IRMutator::visit;

    static Halide::Internal::Stmt counted(const char *counter, const Halide::Internal::Stmt &stmt) {
        using namespace Halide::Internal;
        return Block::make(Evaluate::make(Call::make(Halide::Int(32), counter, {}, Call::Extern)), stmt);
    }
    static bool is_of(const std::string &name, const char *func) { return name.compare(0, std::strlen(func), func) == 0; }

    Halide::Internal::Stmt visit(const Halide::Internal::ProducerConsumer *op) override {
        const Halide::Internal::Stmt inside = IRMutator::visit(op);
        return op->is_producer && is_of(op->name, "dot") ? counted("attune_test_count_panel", inside) : inside;
    }
    Halide::Internal::Stmt visit(const Halide::Internal::Store *op) override {
        const Halide::Internal::Stmt store = IRMutator::visit(op);
        if (is_of(op->name, "dot")) return counted("attune_test_count_dot", store);
        if (is_of(op->name, "block_output") && !is_const_zero(op->value)) return counted("attune_test_count_output", store);
        if (is_of(op->name, "key_block")) return counted("attune_test_count_key_copy", store);
        if (is_of(op->name, "value_block")) return counted("attune_test_count_value_copy", store);
        if (is_of(op->name, "packed_query")) return counted("attune_test_count_packed_query", store);
        return is_of(op->name, "score") ? counted("attune_test_count_store", store) : store;
    }
};

/** Flash whose finished code counts. */
struct CountingFlash : Flash {
    explicit CountingFlash(std::optional<dsl::Mask> mask = std::nullopt, int head_dim = 0,
                           const Halide::Target &target = runnable_targets().front())
        : Flash(head_dim, std::move(mask), true, target) {
        jit.pipeline.add_custom_lowering_pass(new Counting);
        jit.pipeline.set_jit_externs({{"attune_test_count_panel", Halide::JITExtern(count_panel)},
                                      {"attune_test_count_dot", Halide::JITExtern(count_dot)},
                                      {"attune_test_count_output", Halide::JITExtern(count_output)},
                                      {"attune_test_count_store", Halide::JITExtern(count_store)},
                                      {"attune_test_count_key_copy", Halide::JITExtern(count_key_copy)},
                                      {"attune_test_count_value_copy", Halide::JITExtern(count_value_copy)},
                                      {"attune_test_count_packed_query", Halide::JITExtern(count_packed_query)}});
        compile();
    }
};

class Skipping : public SeededTest {
protected:
    explicit Skipping(CountingFlash &compiled) : flash(compiled) {}

    /** Documents one after another, the first of 95 tokens and each shorter than the one before: [1, tokens], from token `first`. */
    static Tensor<int64_t> packed_documents(int64_t first, int64_t tokens) {
        Tensor<int64_t> documents({1, tokens});
        for (int64_t t = 0; t < tokens; t++)
            documents(0, t) = (first + t) * (first + t) / 9000;
        return documents;
    }

    /** Tiles x panels in which `attends` holds somewhere, how many of those it doesn't hold everywhere in, and how often a vector of rows
     * is multiplied with a key, and with its value: the rows of parts of tiles in which it holds somewhere, with all of the panel but
     * what lies too far behind the last key of the tile. The first panel of a tile begins with the first key any of its rows attends to,
     * or a whole number of panels before. */
    struct Needed {
        int64_t panels = 0, partial = 0, keys = 0, values = 0;
    };
    template <typename F> Needed needed(const AttentionProblem &p, F attends) const {
        const int rows = flash.blocking.rows_per_tile, width = flash.blocking.keys_per_panel, first_rows = flash.blocking.first_rows;
        const int few = flash.blocking.few_keys, at_once = flash.blocking.values_at_once;
        Needed n;
        for (int b = 0; b < p.batch(); b++)
            for (int h = 0; h < p.query_heads(); h++)
                for (int tile = 0; tile * rows < p.queries(); tile++) {
                    const int end = int(std::min<int64_t>((tile + 1) * rows, p.queries()));
                    auto attended_in = [&](int first_row, int end_row, int key, int keys) {
                        int attended = 0;
                        for (int i = first_row; i < end_row; i++)
                            for (int j = key; j < std::min<int64_t>(key + keys, p.keys()); j++)
                                attended += attends(b, i, j);
                        return attended;
                    };
                    int first = 0, behind_last = int(p.keys());
                    while (first < p.keys() && attended_in(tile * rows, end, first, 1) == 0)
                        first++;
                    while (first < behind_last && attended_in(tile * rows, end, behind_last - 1, 1) == 0)
                        behind_last--;
                    for (int key = first % width; key < p.keys(); key += width) {
                        const int split = std::min(tile * rows + first_rows, end);
                        const int of_first = attended_in(tile * rows, split, key, width), of_rest = attended_in(split, end, key, width);
                        const int attended = of_first + of_rest;
                        n.panels += attended > 0;
                        n.partial += attended > 0 && attended < (end - tile * rows) * width;
                        const int vectors = ((of_first > 0) * first_rows + (of_rest > 0) * (rows - first_rows)) / flash.machine.float_lanes;
                        const int left = behind_last - key, in_passes = (left + at_once - 1) / at_once * at_once;
                        n.keys += vectors * (left <= few ? few : width);
                        n.values += vectors * (few > 0 ? std::min(in_passes, width) : width);
                    }
                }
        return n;
    }

    /** Runs, and compares what the finished code did, and what the kernel's own counter says, with what was needed. */
    template <typename F> void expect_exact_work(const AttentionProblem &p, F attends) {
        panels = dots = outputs = stores = 0;
        const JitResult result = flash.jit.run(p);
        Needed counted;
        for (int b = 0; b < p.batch(); b++)
            for (int h = 0; h < p.query_heads(); h++)
                for (int tile = 0; tile < result.counts.extent[2]; tile++)
                    counted.panels += result.counts(b, h, tile, 0), counted.partial += result.counts(b, h, tile, 1);
        const Needed exact = needed(p, attends);
        EXPECT_EQ(panels, exact.panels);
        EXPECT_EQ(keys_multiplied(p), exact.keys);
        EXPECT_EQ(values_multiplied(p), exact.values);
        EXPECT_EQ(counted.panels, exact.panels);
        EXPECT_EQ(counted.partial, exact.partial);
        if (exact.partial == 0) {
            EXPECT_EQ(stores, stores_per_panel() * exact.panels);
        }
        expect_exact(result, p);
    }

    /** How often a vector of rows was multiplied with a key: a sum is stored once as 0, and then with each channel. */
    int64_t keys_multiplied(const AttentionProblem &p) const { return (dots - stores_per_panel() * panels) / p.dim(); }

    /** And with a value: all channels are stored with each, in steps. */
    int64_t values_multiplied(const AttentionProblem &p) const {
        const int64_t step = flash.blocking.value_step;
        return outputs / ((p.value_dim() + step - 1) / step * step);
    }

    /** Keys of whole panels, the first of which begins with the first of so many. */
    int64_t in_panels(int64_t keys) const {
        const int64_t width = flash.blocking.keys_per_panel;
        return (keys + width - 1) / width * width;
    }

    /** Stores into the scores of one panel in one pass. */
    int64_t stores_per_panel() const {
        return int64_t(flash.blocking.keys_per_panel) * flash.blocking.rows_per_tile / flash.machine.float_lanes;
    }

    CountingFlash &flash;
};

/** The tiles of a class of CPUs, for heads of so many channels, or of any number. */
struct TunedTiles {
    Halide::Target target;
    int head_dim;
};

std::string name(const ::testing::TestParamInfo<TunedTiles> &info) {
    return name_of_target(info.param.target) + (info.param.head_dim == 0 ? "" : "_d" + std::to_string(info.param.head_dim));
}

// This machine's own, and those of AVX2, whose rows aren't a power of two.
std::vector<TunedTiles> tuned_tiles() {
    std::vector<TunedTiles> tiles = {{runnable_targets().front(), 0}};
    for (const Halide::Target &target : runnable_targets())
        if (name_of_target(target) == "avx2") tiles.push_back({target, 64});
    return tiles;
}

class SkippingInTiles : public Skipping, public ::testing::WithParamInterface<TunedTiles> {
protected:
    SkippingInTiles() : Skipping(without_mask(GetParam())) {}

    /** Compiled once: that takes seconds. */
    static CountingFlash &without_mask(const TunedTiles &tiles) {
        static std::map<std::string, CountingFlash> compiled;
        return compiled.try_emplace(tiles.target.to_string() + std::to_string(tiles.head_dim), std::nullopt, tiles.head_dim, tiles.target)
            .first->second;
    }

    const int64_t channels = GetParam().head_dim == 0 ? 8 : GetParam().head_dim;
    const int64_t whole_vectors = // channels, of values in whole steps
        GetParam().head_dim == 0 ? 2 * std::lcm(flash.blocking.value_step, flash.machine.float_lanes) : channels;
};

INSTANTIATE_TEST_SUITE_P(Tiles, SkippingInTiles, ::testing::ValuesIn(tuned_tiles()), name);

TEST_P(SkippingInTiles, ComputesExactlyThePanelsWhereSomethingAttends) {
    for (const char *mask : {"none", "causal", "window(70, 0)", "window(5, 40)", "causal & window(33, 0)", "prefix(100)",
                             "causal | prefix(50)", "window(20, 0) | prefix(30)", "causal & !window(60, 0)", "documents",
                             "documents & causal", "documents & window(20, 0) | prefix(30)", "!documents & causal"})
        for (int64_t length : {500, 211, 0}) {
            SCOPED_TRACE(std::string(mask) + ", key length " + std::to_string(length));
            AttentionProblem p = normal_problem({2, 2, 1, 203, 500, channels, channels}, random);
            p.mask = mask;
            p.offsets = {297, 100};
            p.key_lengths = {length, 500};
            p.documents = packed_documents(0, 500), p.query_documents = packed_documents(297, 203);
            const Cells cells[] = {{p, 0, 0}, {p, 1, 0}};
            expect_exact_work(p, [&](int b, int i, int j) { return cells[b].attended(i, j); });
        }
}

TEST_P(SkippingInTiles, OfABooleanTensorIsExactAsWell) {
    AttentionProblem p = normal_problem({1, 2, 1, 203, 500, channels, channels}, random);
    p.boolean_mask = Tensor<uint8_t>({1, 2, 203, 500});
    auto blocks = [](int h, int i, int j) { return (i / 40 + j / 56 + h) % 3 == 0; };
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < 203; i++)
            for (int j = 0; j < 500; j++)
                (*p.boolean_mask)(0, h, i, j) = blocks(h, i, j);
    panels = 0;
    flash.jit.run(p);
    int64_t exact = 0;
    const int rows = flash.blocking.rows_per_tile, width = flash.blocking.keys_per_panel;
    for (int h = 0; h < 2; h++)
        for (int tile = 0; tile * rows < 203; tile++)
            for (int panel = 0; panel * width < 500; panel++) {
                bool any = false;
                for (int i = tile * rows; i < std::min(203, (tile + 1) * rows); i++)
                    for (int j = panel * width; j < std::min(500, (panel + 1) * width); j++)
                        any = any || blocks(h, i, j);
                exact += any;
            }
    EXPECT_EQ(panels, exact);
}

// Where a head's keys and values lie one after the other, only the panel that goes past the last key is copied. Rows of values are of whole
// steps and vectors, as those in place have to be.
TEST_P(SkippingInTiles, CopiesNothingThatCanBeReadInPlace) {
    const bool in_place = flash.blocking.reads_in_place;
    EXPECT_EQ(in_place, flash.machine.float_lanes >= 8);
    const int64_t width = flash.blocking.keys_per_panel, keys = 503, heads = 2, dim = whole_vectors;
    AttentionProblem p = normal_problem({1, heads, heads, 203, keys, dim, dim}, random);
    const int64_t rows = flash.blocking.rows_per_tile * flash.blocking.tiles_per_task, tasks = (p.queries() + rows - 1) / rows;
    // A block's copies go on for another panel, since its last may begin anywhere before its end.
    const int64_t of_block = *Halide::Internal::as_const_int(flash.blocking.keys_per_block), blocks = (keys + of_block - 1) / of_block;
    const int64_t of_key = heads * tasks * dim / flash.machine.float_lanes, last = width * of_key;
    const int64_t all = (in_panels(keys) + (blocks - 1) * width) * of_key;
    ASSERT_NE(keys % width, 0);
    for (const bool keys_apart : {false, true})
        for (const bool values_apart : {false, true}) {
            AttentionProblem given = p;
            const auto set_apart = [&](Tensor<float> &x) {
                const Tensor<float> from = x;
                x = Tensor<float>({1, heads, keys, dim}, Layout::tokens_first());
                for (int64_t h = 0; h < heads; h++)
                    for (int64_t j = 0; j < keys; j++)
                        for (int64_t d = 0; d < dim; d++)
                            x(0, h, j, d) = from(0, h, j, d);
            };
            if (keys_apart) set_apart(given.k);
            if (values_apart) set_apart(given.v);
            key_copies = value_copies = 0;
            expect_exact(flash.jit.run(given), p);
            EXPECT_EQ(key_copies, keys_apart || !in_place ? all : last);
            EXPECT_EQ(value_copies, values_apart || !in_place ? all : last);
        }
}

TEST_P(SkippingInTiles, CopiesThePanelsOfATaskAlone) {
    const int64_t heads = 2, lanes = flash.machine.float_lanes;
    for (const int64_t back : {5, 30, 61}) {
        AttentionProblem p = normal_problem({1, heads, heads, flash.blocking.rows_per_tile, 150, whole_vectors, whole_vectors}, random,
                                            Layout::tokens_first()); // so that nothing is read in place
        p.mask = "window(" + std::to_string(back) + ", 0)";
        p.offset = 75;
        key_copies = value_copies = 0;
        expect_exact(flash.jit.run(p), p);
        const int64_t copied = in_panels(back + p.queries()) * heads * whole_vectors / lanes;
        EXPECT_EQ(key_copies, copied) << back;
        EXPECT_EQ(value_copies, copied) << back;
    }
}

TEST_P(SkippingInTiles, PacksOnlyRowsThatAreMultiplied) {
    const int64_t first_rows = flash.blocking.first_rows, rows = flash.blocking.rows_per_tile, lanes = flash.machine.float_lanes;
    ASSERT_GT(first_rows, 0);
    const std::pair<int64_t, int64_t> packed_of[] = {
        {1, first_rows}, {first_rows, first_rows}, {first_rows + 1, rows}, {rows + 1, rows + first_rows}, {2 * rows, 2 * rows}};
    for (const auto &[queries, packed] : packed_of) {
        const AttentionProblem p = normal_problem({1, 1, 1, queries, 50, channels, channels}, random);
        packed_queries = 0;
        expect_exact(flash.jit.run(p), p);
        EXPECT_EQ(packed_queries, packed / lanes * channels) << queries;
    }
}

class SkippingByCompiledMask : public Skipping {
protected:
    SkippingByCompiledMask() : Skipping(compiled) {}

    CountingFlash compiled{dsl::causal(40) & dsl::window(90, 0, 40)};
};

TEST_F(SkippingByCompiledMask, LooksAtTheMaskOnlyWhereItIsPartlyTrue) {
    AttentionProblem p = normal_problem({1, 2, 1, 203, 480, 8, 8}, random); // whole panels: the end of the keys masks nothing
    AttentionProblem meant = p;
    auto allows = [](int, int i, int j) { return j <= i + 40 && j >= i - 50; };
    meant.boolean_mask = Tensor<uint8_t>({1, 1, 203, 480});
    for (int i = 0; i < 203; i++)
        for (int j = 0; j < 480; j++)
            (*meant.boolean_mask)(0, 0, i, j) = allows(0, i, j);
    panels = dots = outputs = stores = 0;
    const JitResult result = flash.jit.run(p);
    const Needed exact = needed(p, allows);
    EXPECT_EQ(panels, exact.panels);
    EXPECT_EQ(keys_multiplied(p), exact.keys);
    EXPECT_EQ(values_multiplied(p), exact.values);
    EXPECT_EQ(stores, stores_per_panel() * (exact.panels + exact.partial));
    expect_exact(result, meant);
}

class SkippingByPattern : public Skipping {
protected:
    SkippingByPattern() : Skipping(compiled) {}

    CountingFlash compiled{dsl::Mask([](const dsl::Cell &c) { return c.key <= c.query + 100 && (c.query / 48 + c.key / 60) % 3 == 0; })};
};

TEST_F(SkippingByPattern, OfAUsersOwnIsExact) {
    const AttentionProblem p = normal_problem({1, 2, 1, 203, 480, 8, 8}, random);
    panels = 0;
    flash.jit.run(p);
    EXPECT_EQ(panels, needed(p, [](int, int i, int j) { return j <= i + 100 && (i / 48 + j / 60) % 3 == 0; }).panels);
}

} // namespace
} // namespace attune::test::skipping_test
