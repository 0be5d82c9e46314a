// Which positions are accepted.
#include "runtime/src/position/numbers.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace attune::runtime {
namespace {

Status check(int64_t offset, int64_t tokens) {
    Positions p;
    p.offset = offset, p.tokens = tokens;
    return check_positions(p, {0, 9, "are rows of the table"});
}

TEST(PositionNumbers, EveryTokenHasToBeWithinTheLimit) {
    EXPECT_TRUE(check(0, 10).ok());
    EXPECT_TRUE(check(7, 3).ok());
    EXPECT_EQ(check(8, 3).message, "offset is 8; it must be 0 to 7, so that the positions of 3 tokens are rows of the table");
    EXPECT_EQ(check(-1, 1).message, "offset is -1; it must be 0 to 9, so that the positions of 1 tokens are rows of the table");
    EXPECT_EQ(check(0, 11).message, "there are 11 tokens; they must be at most 10, so that their positions are rows of the table");
}

TEST(PositionNumbers, NoTokensMayStandAnywhere) {
    EXPECT_TRUE(check(10, 0).ok());
    EXPECT_TRUE(check(11, 0).ok());
}

TEST(PositionNumbers, AreCountedFromWhatTheMessageNames) {
    int64_t lengths[2] = {7, 8};
    attune_tensor tensor = attune_contiguous(lengths, ATTUNE_I64, 1, (const int64_t[]){2});
    const std::string rest = " is 8; it must be 0 to 7, so that the positions of 3 tokens are rows of the table";
    const std::pair<CountedFrom, const char *> cases[] = {{CountedFrom::offset, "offsets[1]"},
                                                          {CountedFrom::cache, "cache.lengths[1]"},
                                                          {CountedFrom::cache_and_new, "cache.lengths[1] + T - N"}};
    for (const auto &[counted_from, name] : cases) {
        Positions p;
        p.offsets = &tensor, p.batch = 2, p.tokens = 3, p.counted_from = counted_from;
        EXPECT_EQ(check_positions(p, {0, 9, "are rows of the table"}).message, name + rest);
    }
    Positions p;
    p.offset = 8, p.tokens = 3, p.counted_from = CountedFrom::cache;
    EXPECT_EQ(check_positions(p, {0, 9, "are rows of the table"}).message, "cache.lengths" + rest);
}

} // namespace
} // namespace attune::runtime
