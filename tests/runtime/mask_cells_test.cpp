// The cells that patterns allow, for a kernel without them, against the mask's definition, cell by cell, over random formulas.
#include "mask_cells.h"

#include <gtest/gtest.h>

#include <vector>

#include "mask_formulas.h"

namespace attune::runtime::mask_cells_test {
namespace {

const std::vector<MaskKind> terms = {MaskKind::causal, MaskKind::window, MaskKind::prefix, MaskKind::dilated, MaskKind::strided};

TEST(MaskCells, HoldWhatTheMaskSays) {
    std::mt19937 random(6);
    const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
    for (int round = 0; round < 5000 && !HasFailure(); ++round) {
        const int64_t queries = pick(1, 9), keys = pick(1, 9), extents[4] = {1, 1, queries, keys};
        const int64_t offset = pick(0, 5) == 0 ? pick(-5000000000, 5000000000) : pick(-12, 12);
        PlanMask mask;
        mask.rest = random_mask(random, static_cast<int>(pick(0, 3)), terms);
        std::vector<uint8_t> cells(static_cast<size_t>(queries * keys), 2);
        Call call(nullptr);
        const DocumentSets documents(call);
        const Status status = write_mask_cells(mask, {1, 1, queries, keys, offset}, nullptr, nullptr, documents, call,
                                               attune_contiguous(cells.data(), ATTUNE_BOOL, 4, extents));
        ASSERT_TRUE(status.ok()) << status.message;
        for (int64_t i = 0; i < queries; ++i)
            for (int64_t j = 0; j < keys; ++j)
                EXPECT_EQ(cells[static_cast<size_t>(i * keys + j)], attends(mask.rest, {queries, keys, offset}, i, j))
                    << "query " << i << ", key " << j;
    }
}

// Queries then stand at positions that 64 bits don't hold.
TEST(MaskCells, DilationsKeepTheirPhaseAtTheFarthestOffsets) {
    constexpr int64_t queries = 5, keys = 7, extents[4] = {1, 1, queries, keys};
    PlanMask mask;
    mask.rest.kind = MaskKind::dilated, mask.rest.numbers = {{3}};
    for (const int64_t offset : {INT64_MAX, INT64_MAX - 2, INT64_MIN, INT64_MIN + 1, int64_t{-4}}) {
        SCOPED_TRACE(offset);
        std::vector<uint8_t> cells(size_t{queries * keys}, 2);
        Call call(nullptr);
        const DocumentSets documents(call);
        const Status status = write_mask_cells(mask, {1, 1, queries, keys, offset}, nullptr, nullptr, documents, call,
                                               attune_contiguous(cells.data(), ATTUNE_BOOL, 4, extents));
        ASSERT_TRUE(status.ok()) << status.message;
        for (int64_t i = 0; i < queries; ++i)
            for (int64_t j = 0; j < keys; ++j)
                EXPECT_EQ(cells[static_cast<size_t>(i * keys + j)], (j - i - offset % 3) % 3 == 0) << "query " << i << ", key " << j;
    }
}

} // namespace
} // namespace attune::runtime::mask_cells_test
