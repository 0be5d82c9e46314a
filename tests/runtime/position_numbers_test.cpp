// Which positions are accepted.
#include "position_numbers.h"

#include <string>

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

TEST(PositionNumbers, NoTokensMayStandBehindTheLast) {
    EXPECT_TRUE(check(10, 0).ok());
    EXPECT_EQ(check(11, 0).message, "offset is 11; it must be 0 to 10, so that the positions of 0 tokens are rows of the table");
    int64_t offsets[2] = {10, 3};
    attune_tensor tensor = attune_contiguous(offsets, ATTUNE_I64, 1, (const int64_t[]){2});
    Positions p;
    p.offsets = &tensor, p.batch = 2;
    EXPECT_TRUE(check_positions(p, {0, 9, "are rows of the table"}).ok());
    offsets[0] = 11;
    EXPECT_FALSE(check_positions(p, {0, 9, "are rows of the table"}).ok());
}

} // namespace
} // namespace attune::runtime
