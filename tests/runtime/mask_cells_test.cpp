// The cells that patterns allow, for a kernel without them, against the mask's definition, cell by cell, over random formulas.
#include "runtime/src/mask/cells.h"

#include <gtest/gtest.h>

#include <vector>

#include "mask_formulas.h"

namespace attune::runtime::mask_cells_test {
namespace {

const std::vector<MaskKind> terms = {MaskKind::causal, MaskKind::window, MaskKind::prefix, MaskKind::dilated, MaskKind::strided};

/** Of one head of one item: `allows` takes a query and a key. */
template <typename Allows> void expect_cells(const PlanMask &mask, const MaskInput &input, const Allows &allows) {
    const int64_t extents[4] = {1, 1, input.queries, input.keys};
    std::vector<uint8_t> cells(static_cast<size_t>(input.queries * input.keys), 2);
    Call call(nullptr);
    const DocumentSets documents(call);
    const Status status =
        write_mask_cells(mask, input, nullptr, nullptr, documents, call, attune_contiguous(cells.data(), ATTUNE_BOOL, 4, extents));
    ASSERT_TRUE(status.ok()) << status.message;
    for (int64_t i = 0; i < input.queries; ++i)
        for (int64_t j = 0; j < input.keys; ++j)
            EXPECT_EQ(cells[static_cast<size_t>(i * input.keys + j)], allows(i, j)) << "query " << i << ", key " << j;
}

TEST(MaskCells, HoldWhatTheMaskSays) {
    std::mt19937 random(6);
    const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
    for (int round = 0; round < 5000 && !HasFailure(); ++round) {
        const int64_t queries = pick(1, 9), keys = pick(1, 9);
        const int64_t offset = pick(0, 5) == 0 ? pick(-5000000000, 5000000000) : pick(-12, 12);
        PlanMask mask;
        mask.rest = random_mask(random, static_cast<int>(pick(0, 3)), terms);
        expect_cells(mask, {1, 1, queries, keys, offset}, [&](int64_t i, int64_t j) {
            return attends(mask.rest, {queries, keys, offset}, i, j);
        });
    }
}

// Queries then stand at positions that 64 bits don't hold.
TEST(MaskCells, DilationsKeepTheirPhaseAtTheFarthestOffsets) {
    PlanMask mask;
    mask.rest.kind = MaskKind::dilated, mask.rest.numbers = {{3}};
    for (const int64_t offset : {INT64_MAX, INT64_MAX - 2, INT64_MIN, INT64_MIN + 1, int64_t{-4}}) {
        SCOPED_TRACE(offset);
        expect_cells(mask, {1, 1, 5, 7, offset}, [&](int64_t i, int64_t j) { return (j - i - offset % 3) % 3 == 0; });
    }
}

} // namespace
} // namespace attune::runtime::mask_cells_test
