// Every attention kernel under every kind of mask that comes at run time.
#include "attention_test.h"

#include <limits>

namespace attune::test {
namespace {

/** Masks of the language in all its shapes: those that give several intervals a row among them. */
const char *const masks[] = {
    "none",
    "causal",
    "window(3,0)",
    "window(0,5)",
    "window(0, 0)",
    "window(-1,2)",
    "window(4,-1)",
    "window(-1,-1)",
    "prefix(0)",
    "prefix(5)",
    "prefix(1000000)",
    "causal | prefix(7)",
    "!causal",
    "!window(2,2)",
    "causal & window(8,0)",
    "causal & !window(3,3)",
    "!(causal | prefix(4))",
    "!!(causal)",
    "window(2,2) | window(2,2,top_left) | prefix(3)",
    "prefix(3) | !prefix(20) & causal",
    "window(1,1,top_left) | window(1,1,bottom_right) & !prefix(2)",
    "!window(0,0) & !window(0,0,top_left) & !window(0,0,bottom_right)",
    "causal(top_left) & window(9,-1,bottom_right)",
};

ATTUNE_ATTENTION_SUITE(AttentionMasks);

TEST_P(AttentionMasks, TextOnASquare) {
    for (const char *mask : masks) {
        AttentionProblem p = problem(33, 33);
        p.mask = mask;
        expect_right(p, {true});
    }
}

TEST_P(AttentionMasks, TextWithAnOffset) {
    for (const char *mask : masks)
        for (auto [queries, keys, offset] : {std::tuple<int64_t, int64_t, int64_t>{13, 41, 5}, {41, 13, -9}, {1, 30, 29}}) {
            AttentionProblem p = problem(queries, keys);
            p.mask = mask, p.offset = offset;
            expect_right(p);
        }
}

TEST_P(AttentionMasks, TextOverManyBlocks) {
    const int64_t n = large();
    for (const char *mask : {"causal", "window(40,0)", "window(100,-1) & causal", "prefix(20) | window(5,5)", "!window(150,20)"}) {
        AttentionProblem p = problem(n, n, 1, 1);
        p.mask = mask;
        expect_right(p, {true});
    }
}

TEST_P(AttentionMasks, NamedAlignments) {
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{13, 41}, {41, 13}, {1, 41}, {41, 1}, {25, 25}})
        for (const char *mask : {"causal(top_left)", "causal(bottom_right)", "window(3,1,top_left)", "window(3,1,bottom_right)"}) {
            AttentionProblem p = problem(queries, keys);
            p.mask = mask;
            expect_right(p);
            p.offset = 1000; // holds only for terms that name none
            expect_right(p);
        }
}

TEST_P(AttentionMasks, AnyOffset) {
    const int64_t lowest = std::numeric_limits<int64_t>::min(), highest = std::numeric_limits<int64_t>::max();
    for (int64_t offset : {int64_t(0), int64_t(1), int64_t(-1), int64_t(20), int64_t(-20), int64_t(40), int64_t(-40), int64_t(1) << 31,
                           -(int64_t(1) << 31) - 1, int64_t(1) << 32, lowest, highest})
        for (const char *mask : {"causal", "!causal", "window(3,4)", "!window(-1,4)", "causal | prefix(2)"}) {
            AttentionProblem p = problem(25, 33);
            p.mask = mask, p.offset = offset;
            expect_right(p);
        }
}

TEST_P(AttentionMasks, WidestWindows) {
    for (const char *mask : {"window(9223372036854775807, 9223372036854775807)", "window(4294967296, 0)", "prefix(9223372036854775807)"})
        for (int64_t offset : {int64_t(0), std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
            AttentionProblem p = problem(5, 33);
            p.mask = mask, p.offset = offset;
            expect_right(p);
        }
}

TEST_P(AttentionMasks, AnOffsetPerBatchItem) {
    for (const char *mask : {"causal", "window(4,2) | prefix(2)", "!causal", "causal & window(5,-1,bottom_right)"}) {
        AttentionProblem p = problem(13, 41, 5);
        p.mask = mask, p.offsets = {0, 28, -5, int64_t(1) << 40, -(int64_t(1) << 40)};
        expect_right(p);
    }
}

TEST_P(AttentionMasks, KeyLengths) {
    for (const char *mask : {"none", "causal(bottom_right)", "window(3,3,top_left) | prefix(1)", "!causal(top_left)"}) {
        AttentionProblem p = problem(25, 41, 6, 4, 2);
        p.mask = mask, p.key_lengths = {41, 0, 1, 12, 13, 40};
        expect_right(p);
    }
}

TEST_P(AttentionMasks, KeyLengthsOverManyBlocks) {
    const int64_t n = large();
    AttentionProblem p = problem(13, n, 4, 2);
    p.mask = "causal", p.key_lengths = {n, 33, 0, n / 2}, p.offsets = {n - 13, 20, 0, n / 2 - 13};
    expect_right(p);
}

TEST_P(AttentionMasks, BooleanMasksBroadcastOverAnyAxis) {
    for (int full = 0; full < 16; full++) {
        AttentionProblem p = problem(13, 35, 2, 4, 2);
        p.boolean_mask = boolean_mask({full & 8 ? 2 : 1, full & 4 ? 4 : 1, full & 2 ? 13 : 1, full & 1 ? 35 : 1});
        expect_right(p, {false, 0});
        p.boolean_mask = p.boolean_mask->broadcast({2, 4, 13, 35}); // the same through strides of zero
        expect_right(p, {false, 0});
    }
}

TEST_P(AttentionMasks, BiasesBroadcastOverAnyAxis) {
    for (int full = 0; full < 16; full++) {
        AttentionProblem p = problem(13, 35, 2, 4, 2);
        p.bias = bias({full & 8 ? 2 : 1, full & 4 ? 4 : 1, full & 2 ? 13 : 1, full & 1 ? 35 : 1});
        expect_right(p);
    }
}

TEST_P(AttentionMasks, MaskTensorsInAnyLayout) {
    for (const Layout &layout : {Layout{{0, 1, 3, 2}, 0}, Layout{{3, 2, 1, 0}, 2}, Layout{{0, 2, 1, 3}, 3}}) {
        AttentionProblem p = problem(25, 49, 2, 4, 2);
        p.boolean_mask = boolean_mask({2, 4, 25, 49}).laid_out(layout);
        p.bias = bias({2, 4, 25, 49}).laid_out(layout);
        expect_right(p);
    }
}

/** Fewer keys than are read at once, as many, one more, and a last vector that begins within the one before. */
TEST_P(AttentionMasks, BooleanMasksOfAboutAsManyKeysAsAreReadAtOnce) {
    for (int64_t keys : {31, 63, 64, 65, 130})
        for (const Layout &layout : {Layout{{0, 1, 2, 3}, 1}, Layout{{0, 1, 3, 2}, 0}}) {
            AttentionProblem p = problem(49, keys, 1, 2);
            p.boolean_mask = boolean_mask({1, 2, 49, keys}).laid_out(layout);
            expect_right(p);
        }
}

TEST_P(AttentionMasks, AllTogetherMeanAllOfThem) {
    AttentionProblem p = problem(30, 45, 3, 4, 2);
    p.mask = "causal | prefix(6)", p.offsets = {15, 3, -4}, p.key_lengths = {45, 20, 31};
    p.boolean_mask = boolean_mask({3, 1, 30, 45}), p.bias = bias({1, 4, 1, 45});
    p.scale = 0.3f, p.softcap = 2.5f, p.temperature = 0.7f;
    expect_right(p);
}

TEST_P(AttentionMasks, BooleanMaskOverManyBlocks) {
    const int64_t n = large();
    AttentionProblem p = problem(49, n, 1, 2);
    p.boolean_mask = boolean_mask({1, 1, 49, n}, 0.02); // whole blocks of nothing, and rows that begin with one
    p.bias = bias({1, 2, 49, 1});
    expect_right(p);
}

} // namespace
} // namespace attune::test
