// Where words lie in the panels that products by warpgroups read.
#include "dsl/swizzled_panels.h"

#include <gtest/gtest.h>

#include <set>

namespace {

using namespace Halide;
using attune::dsl::SwizzledPanels;

/** The value of an expression of constants, with its calls of warp_xor done. */
int value_of(const Expr &e) {
    class DoXor : public Internal::IRMutator {
        using IRMutator::visit;
        Expr visit(const Internal::Call *op) override {
            if (op->name != "warp_xor") return IRMutator::visit(op);
            return value_of(op->args[0]) ^ value_of(op->args[1]);
        }
    };
    const auto value = Internal::as_const_int(Internal::simplify(DoXor().mutate(e)));
    EXPECT_TRUE(value) << e;
    return value ? int(*value) : -1;
}

TEST(SwizzledPanels, AreAsWideAsMayBe) {
    const int expected[][4] = {{64, 32, 1, 128}, {96, 16, 3, 64}, {128, 32, 2, 128}, {192, 32, 3, 128}, {256, 32, 4, 128}, {80, 8, 5, 32}};
    for (const auto &[channels, words, count, bytes] : expected) {
        const SwizzledPanels panels(channels);
        EXPECT_EQ(panels.words, words) << channels;
        EXPECT_EQ(panels.count, count) << channels;
        EXPECT_EQ(panels.line_bytes(), bytes) << channels;
        EXPECT_EQ(panels.bytes(64), 64 * bytes) << channels;
        EXPECT_EQ(value_of(panels.panel_of(channels / 2 - 1)), count - 1) << channels;
    }
}

/** The instruction changes bits 4 to 6 of an address by bits 7 to 9, as many of them as a line has pieces of 16 bytes. */
TEST(SwizzledPanels, LieAsTheInstructionReads) {
    for (int channels : {64, 96, 80}) {
        const SwizzledPanels panels(channels);
        for (int row = 0; row < 16; row++) {
            std::set<int> places;
            for (int word = 0; word < panels.words; word++) {
                const int address = row * panels.line_bytes() + word * 4;
                const int swizzled = address ^ ((address >> 7 & (panels.line_bytes() / 16 - 1)) << 4);
                const int place = value_of(panels.swizzled(word, row));
                EXPECT_EQ(row * panels.line_bytes() + place * 4, swizzled) << channels << ", row " << row << ", word " << word;
                EXPECT_EQ(value_of(panels.swizzled(place, row)), word) << channels << ", row " << row << ", word " << word;
                places.insert(place);
            }
            EXPECT_EQ(int(places.size()), panels.words);
        }
        EXPECT_EQ(value_of(panels.swizzled(panels.words + 3, 5)), value_of(panels.swizzled(3, 5))) << "of the next panel";
    }
}

/** The first of eight rows isn't swizzled, which must be seen without an operation: descriptors name it. */
TEST(SwizzledPanels, BeginAsTheyAre) {
    const Var step("step");
    const Expr place = Internal::simplify(SwizzledPanels(128).swizzled(40, step * 64));
    EXPECT_TRUE(Internal::is_const(place, 8)) << place;
}

} // namespace
