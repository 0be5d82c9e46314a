// Runs over fake kernels with all that a score, a position, sinks, dropout and the masks of data bring: what kernels are handed, and the
// weights that come back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "problem.h"
#include "runtime/src/kernel/internal.h"

namespace attune::runtime::attention_terms_test {
namespace {

using Names = std::vector<std::string>;

/** A problem with every tensor that terms read, given only where a test asks for it. */
struct Terms : Problem {
    explicit Terms(int64_t queries_ = 5, int64_t keys_ = 5) : Problem(queries_, keys_) {
        seen().clear();
        const int64_t of_keys[2] = {batch, keys}, of_queries[2] = {1, queries}, starts[1] = {4};
        const int64_t blocks[4] = {1, heads, (queries + 1) / 2, (keys + 2) / 3}, cells[4] = {1, heads, queries, keys};
        documents = attune_contiguous(key_ids, ATTUNE_I64, 2, of_keys);
        query_documents = attune_contiguous(query_ids, ATTUNE_I32, 2, of_queries);
        document_starts = attune_contiguous(start_values, ATTUNE_I32, 1, starts);
        block_map = attune_contiguous(block_values, ATTUNE_BOOL, 4, blocks);
        boolean_mask = attune_contiguous(cell_values, ATTUNE_BOOL, 4, cells);
        key_lengths = attune_contiguous(length_values, ATTUNE_I64, 1, &batch);
        bias = attune_contiguous(bias_values, ATTUNE_F32, 4, cells);
        sinks = attune_contiguous(sink_values, ATTUNE_F32, 1, &heads);
        scores = tensor(score_memory, {batch, heads, queries, keys});
        for (size_t i = 0; i < 100; ++i)
            block_values[i] = i % 3 != 1, cell_values[i] = i % 5 != 2, bias_values[i] = static_cast<float>(i % 7) / 4;
        args.weights = &weights_tensor;
    }

    /** The data of batch item b and head h as the definitions read it. */
    MaskPlace place(int64_t b, int64_t h) const {
        MaskPlace place = {queries, keys, args.has_offset ? args.offset : 0};
        place.length = length_values[b];
        place.key_documents.assign(key_ids + b * keys, key_ids + (b + 1) * keys);
        place.query_documents = place.key_documents;
        if (args.query_documents) place.query_documents.assign(query_ids, query_ids + queries);
        place.block = [this, h](int64_t row, int64_t column) { return block_values[(h * 3 + row) * 2 + column] != 0; };
        place.tensor = [this, h](int64_t i, int64_t j) { return cell_values[(h * queries + i) * keys + j] != 0; };
        for (int32_t i = 0; i < args.param_count; ++i)
            place.params.push_back(args.params[i]);
        return place;
    }

    int64_t key_ids[10] = {7, -2, 7, 7, -2, 9, 9, 9, 9, 1};
    int32_t query_ids[5] = {9, 7, 1, -2, 4}, start_values[4] = {0, 2, 2, 5};
    int64_t length_values[2] = {4, 2};
    uint8_t block_values[100], cell_values[100];
    float bias_values[100], sink_values[4] = {0.5f, -1, 2, 0};
    std::vector<float> score_memory = std::vector<float>(room, 77);
    attune_tensor documents, query_documents, document_starts, block_map, boolean_mask, key_lengths, bias, sinks, scores;
};

/** Weights that are 0 exactly where `mask` is false, checked cell by cell. */
void expect_masked(const Terms &p, const char *mask) {
    text::ParseOptions options;
    options.allow_parameters = true;
    const text::ParseResult parsed = text::parse_mask(mask, options);
    ASSERT_TRUE(parsed.ok()) << parsed.error;
    int64_t attended = 0;
    for (int64_t b = 0; b < p.batch; ++b)
        for (int64_t h = 0; h < p.heads; ++h) {
            const MaskPlace place = p.place(b, h);
            for (int64_t i = 0; i < p.queries; ++i)
                for (int64_t j = 0; j < p.keys; ++j) {
                    const float weight = p.weights[static_cast<size_t>(((b * p.heads + h) * p.queries + i) * p.keys + j)];
                    const bool expected = attends(parsed.mask.root, place, i, j);
                    EXPECT_EQ(weight > 0, expected) << mask << ": item " << b << ", head " << h << ", query " << i << ", key " << j;
                    attended += expected;
                }
        }
    EXPECT_GT(attended, 0);
}

TEST(AttentionTerms, MasksByDocumentsThatComeAgain) {
    for (const char *mask : {"documents", "documents & causal", "!documents | prefix(1)", "documents & !window(0, 0)"}) {
        Terms p;
        p.desc.mask = mask, p.args.documents = &p.documents;
        ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
        expect_masked(p, mask);
    }
}

TEST(AttentionTerms, MasksByDocumentsOfQueriesAndOfStarts) {
    Terms p;
    p.desc.mask = "documents", p.args.documents = &p.documents, p.args.query_documents = &p.query_documents;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    expect_masked(p, "documents");
    p.args.documents = p.args.query_documents = nullptr, p.args.document_starts = &p.document_starts;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    const int64_t ids[10] = {0, 0, 2, 2, 2, 0, 0, 2, 2, 2};
    std::copy(ids, ids + 10, p.key_ids);
    expect_masked(p, "documents");
    EXPECT_EQ(seen().intervals, 1);
}

TEST(AttentionTerms, MasksByBlocksOfEachHead) {
    for (const char *mask : {"blocks(2, 3)", "blocks(2, 3) | window(0, 0)", "!blocks(2, 3) & causal"}) {
        Terms p;
        p.desc.mask = mask, p.args.block_map = &p.block_map;
        ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
        EXPECT_GT(seen().head_stride, 0);
        expect_masked(p, mask);
    }
}

TEST(AttentionTerms, ReadsKeyLengthsAsATermWhereThereIsOne) {
    for (const char *mask : {"lengths", "lengths | causal", "!lengths", "documents & lengths | prefix(1)"}) {
        Terms p;
        p.desc.mask = mask, p.args.key_lengths = &p.key_lengths;
        if (mask[0] == 'd') p.args.documents = &p.documents;
        ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
        expect_masked(p, mask);
    }
}

TEST(AttentionTerms, CutsAllRowsByKeyLengthsWithoutATerm) {
    Terms p;
    p.desc.mask = "causal | !documents", p.args.key_lengths = &p.key_lengths, p.args.documents = &p.documents;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    expect_masked(p, "(causal | !documents) & lengths");
}

TEST(AttentionTerms, TakesATensorByItself) {
    Terms p;
    p.desc.mask = "causal & tensor", p.args.boolean_mask = &p.boolean_mask;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    expect_masked(p, "causal & tensor");
}

/** The weights' kernel has no text compiled in: it gets the intervals and, cell by cell, the rest. */
TEST(AttentionTerms, GivesWeightsForAKernelWithPatterns) {
    for (const char *mask : {"none", "!prefix(1)", "tensor"}) {
        Terms p;
        const int32_t params[3] = {3, 2, 3};
        p.desc.kernel = &pattern_kernel, p.desc.mask = mask;
        p.args.params = params, p.args.param_count = 3, p.args.boolean_mask = &p.boolean_mask, p.args.documents = &p.documents;
        p.args.key_lengths = &p.key_lengths, p.args.block_map = &p.block_map, p.args.has_offset = 1, p.args.offset = 1;
        ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
        EXPECT_EQ(seen().kernels, (Names{"pattern", "weights_vectorized"}));
        const std::string whole = std::string(pattern_kernel.mask) + (mask[0] == 'n' ? "" : std::string(" & ") + mask);
        expect_masked(p, whole.c_str());
    }
}

TEST(AttentionTerms, HandsAKernelOfTheCallersOwnItsData) {
    Terms p;
    const int32_t params[3] = {3, 2, 3};
    p.desc.kernel = &pattern_kernel, p.args.weights = nullptr;
    p.args.params = params, p.args.param_count = 3, p.args.boolean_mask = &p.boolean_mask, p.args.documents = &p.documents;
    p.args.key_lengths = &p.key_lengths, p.args.block_map = &p.block_map;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().lengths, (std::vector<int32_t>{4, 2}));
    EXPECT_EQ(seen().key_documents, (std::vector<int32_t>{1, 0, 1, 1, 0, 1, 1, 1, 1, 0}));
    EXPECT_EQ(seen().query_documents, seen().key_documents);
    EXPECT_EQ(seen().block_map, (std::vector<int64_t>{2, 4, 3, 2}));
    EXPECT_EQ(seen().params, (std::vector<int32_t>{3, 2, 3}));
    EXPECT_EQ(seen().use_attend, 0) << "the boolean mask is the compiled-in term's";
    p.args.query_documents = &p.query_documents;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().query_documents, (std::vector<int32_t>{-1, 1, -1, 0, -1, 1, -1, 0, -1, -1}));
}

/** Rows of the interval-only parts of a compiled-in mask reach the table, so that blocks are skipped. */
TEST(AttentionTerms, WorksOutTheIntervalsOfACompiledInMask) {
    Terms p;
    const int32_t reach = 1;
    p.desc.kernel = &causal_window_kernel, p.desc.mask = "!prefix(1)", p.args.params = &reach, p.args.param_count = 1;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().use_attend, 0);
    expect_masked(p, "causal & window(1, 0) & !prefix(1)");
}

/** An offset far out keeps the phase of dilated terms when it is moved nearer. */
TEST(AttentionTerms, KeepsThePhaseOfFarOffsets) {
    Terms p;
    const int32_t params[3] = {3, 2, 3};
    p.desc.kernel = &pattern_kernel, p.args.weights = nullptr;
    p.args.params = params, p.args.param_count = 3, p.args.boolean_mask = &p.boolean_mask, p.args.documents = &p.documents;
    p.args.key_lengths = &p.key_lengths, p.args.block_map = &p.block_map, p.args.has_offset = 1;
    for (int64_t offset : {INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1, int64_t{1} << 40}) {
        p.args.offset = offset;
        ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
        const int64_t moved = seen().offsets[0];
        EXPECT_EQ((static_cast<__int128>(offset) - moved) % 3, 0);
        EXPECT_GE(std::abs(moved), 5);
        EXPECT_LT(std::abs(moved), 10);
        EXPECT_EQ(moved > 0, offset > 0);
    }
}

/** Where no query is as far from a key as 2^30, what a compiled-in mask takes larger numbers for is the same. */
TEST(AttentionTerms, RefusesOffsetsFurtherOutThanCompiledInMasksReach) {
    Terms p;
    const int32_t reach = INT32_MAX, far = 1 << 30;
    p.desc.kernel = &causal_window_kernel, p.args.params = &reach, p.args.param_count = 1, p.args.has_offset = 1;
    for (int64_t offset : {int64_t{0}, int64_t{far} - 5, 5 - int64_t{far}}) {
        p.args.offset = offset;
        ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
        EXPECT_EQ(seen().offsets[0], offset);
    }
    for (int64_t offset : {int64_t{far} - 4, 4 - int64_t{far}, int64_t{INT32_MAX}}) {
        p.args.offset = offset;
        EXPECT_EQ(p.run(), ATTUNE_UNSUPPORTED);
        EXPECT_EQ(std::string(attune_error_message()),
                  "offset is " + std::to_string(offset) +
                      "; it must be -1073741819 to 1073741819, with N = 5, M = 5 and a compiled-in mask " +
                      "whose windows reach 2147483647 and whose dilations have 1 as their least common multiple");
    }
}

TEST(AttentionTerms, HandsOverSinksDropoutAndSeed) {
    Terms p;
    p.args.sinks = &p.sinks, p.args.dropout = 0.3f, p.args.seed = 0x123456789abcdef0u, p.args.lse = &p.lse_tensor;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().use_sinks, 1);
    EXPECT_EQ(seen().dropout_threshold, static_cast<uint32_t>(std::floor(static_cast<double>(0.3f) * 4294967296.0)));
    EXPECT_EQ(seen().seed_low, 0x9abcdef0u);
    EXPECT_EQ(seen().seed_high, 0x12345678u);
    double sum = 0;
    for (size_t j = 0; j < 5; ++j)
        sum += static_cast<double>(p.weights[j]);
    EXPECT_NEAR(sum, 1 - std::exp(0.5 - static_cast<double>(p.lse[0])), 1e-6) << "the sink of head 0 takes its share";
    p.args.dropout = std::nextafter(1.0f, 0.0f);
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().dropout_threshold, 0xffffff00u);
}

TEST(AttentionTerms, AnswersSinksWithoutKeys) {
    Terms p(5, 0);
    p.args.k.data = p.args.v.data = nullptr, p.args.weights = nullptr;
    p.args.sinks = &p.sinks, p.args.lse = &p.lse_tensor;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().kernels, Names());
    for (size_t row = 0; row < 40; ++row)
        EXPECT_EQ(p.lse[row], p.sink_values[row / 5 % 4]);
    EXPECT_EQ(p.out[0], 0.0f);
}

TEST(AttentionTerms, GivesScoresAtEachStageAndWeightsBesideThem) {
    for (int stage : {ATTUNE_SCORES_SCALED, ATTUNE_SCORES_CAPPED, ATTUNE_SCORES_MASKED}) {
        Terms p;
        p.desc.mask = "causal", p.desc.score = "softcap(0.5) bias";
        p.args.scores = &p.scores, p.args.score_stage = static_cast<attune_score_stage>(stage), p.args.bias = &p.bias;
        ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
        EXPECT_EQ(seen().stages, (std::vector<int32_t>{0, stage}));
        EXPECT_EQ(seen().softcap, 0.5f);
        EXPECT_EQ(std::isinf(p.score_memory[1]), stage == ATTUNE_SCORES_MASKED) << "query 0, key 1";
        EXPECT_LE(std::abs(p.score_memory[0]), stage == ATTUNE_SCORES_SCALED ? 100.0f : 0.5f + p.bias_values[0]);
        expect_masked(p, "causal");
    }
}

TEST(AttentionTerms, WorksOutBiasesByDistance) {
    Terms p;
    p.desc.score = "alibi", p.args.scores = &p.scores, p.args.score_stage = ATTUNE_SCORES_MASKED, p.args.weights = nullptr;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().use_relative, 1);
    const std::vector<float> biased = p.score_memory;
    p.args.score_stage = ATTUNE_SCORES_SCALED;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    // Heads have the slopes 1/4, 1/16, 1/64, 1/256.
    for (int64_t h = 0; h < 4; ++h)
        for (int64_t i = 0; i < 5; ++i)
            for (int64_t j = 0; j < 5; ++j) {
                const auto cell = static_cast<size_t>((h * 5 + i) * 5 + j);
                EXPECT_NEAR(biased[cell], p.score_memory[cell] - std::pow(0.25, h + 1) * std::abs(i - j), 1e-6);
            }
}

TEST(AttentionTerms, GivesWeightsForAKernelWithItsOwnScoreAndPosition) {
    Terms p;
    p.desc.kernel = &scored_kernel, p.args.bias = &p.bias;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(std::find(seen().kernels.begin(), seen().kernels.end(), "weights_vectorized") + 1, seen().kernels.end());
    EXPECT_EQ(seen().softcap, 3.0f) << "the weights' kernel";
    EXPECT_EQ(seen().use_relative, 1);
    p.args.weights = nullptr;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().kernels.back(), "scored");
    EXPECT_EQ(seen().softcap, 0.0f) << "it has its own";
    EXPECT_EQ(seen().use_relative, 1);
    ASSERT_EQ(seen().query_position.size(), 2u * 5 * 2 * 2) << "batch, token, cosine and sine, pair";
    EXPECT_EQ(seen().key_position.size(), 2u * 5 * 2 * 2);
}

TEST(AttentionTerms, RunsTheKernelOfTheType) {
    Terms p;
    p.desc.dtype = ATTUNE_F16;
    for (attune_tensor *tensor : {&p.args.q, &p.args.k, &p.args.v, &p.args.out})
        tensor->type = ATTUNE_F16;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(seen().kernels, (Names{"attention_f16", "weights_f16"}));
    EXPECT_EQ(seen().type_code, 2) << "float";
    EXPECT_EQ(seen().type_bits, 16);
}

TEST(AttentionTerms, AllocateNothingInTheSteadyState) {
    Terms p;
    p.desc.mask = "(documents | blocks(2, 3)) & causal", p.desc.score = "alibi";
    p.args.documents = &p.documents, p.args.block_map = &p.block_map, p.args.key_lengths = &p.key_lengths;
    ASSERT_EQ(p.run(), ATTUNE_OK) << attune_error_message();
    const int64_t count = attune_internal_allocation_count();
    for (int i = 0; i < 50; ++i)
        ASSERT_EQ(p.run(), ATTUNE_OK);
    EXPECT_EQ(attune_internal_allocation_count(), count);
}

} // namespace
} // namespace attune::runtime::attention_terms_test
