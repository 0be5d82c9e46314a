// What the mask language means: the trees it is read into.
#include <gtest/gtest.h>

#include "text/mask.h"
#include "text/reader.h"

namespace attune::text::mask_tree_test {
namespace {

std::string show(const Number &number) {
    return number.is_parameter() ? "#" + std::to_string(number.parameter) : std::to_string(number.value);
}

/** The tree with all its brackets: "(& causal:- (! prefix[3]))". */
std::string show(const MaskNode &node) {
    if (node.operands.empty()) {
        std::string text = name_of(node.kind);
        if (node.kind == MaskKind::none) text = "none";
        for (const Number &number : node.numbers)
            text += "[" + show(number) + "]";
        if (node.alignment == Alignment::top_left) text += "@top_left";
        if (node.alignment == Alignment::bottom_right) text += "@bottom_right";
        return text;
    }
    std::string text = node.kind == MaskKind::negation ? "(!" : node.kind == MaskKind::conjunction ? "(&" : "(|";
    for (const MaskNode &operand : node.operands)
        text += " " + show(operand);
    return text + ")";
}

std::string tree(std::string_view text, bool parameters = false) {
    const ParseResult result = parse_mask(text, {parameters});
    EXPECT_TRUE(result.ok()) << result.error;
    return show(result.mask.root);
}

TEST(MaskTree, ReadsTerms) {
    EXPECT_EQ(tree("none"), "none");
    EXPECT_EQ(tree("causal"), "causal");
    EXPECT_EQ(tree("causal(top_left)"), "causal@top_left");
    EXPECT_EQ(tree(" causal ( bottom_right ) "), "causal@bottom_right");
    EXPECT_EQ(tree("window(3,0)"), "window[3][0]");
    EXPECT_EQ(tree("window(-1, 256, top_left)"), "window[-1][256]@top_left");
    EXPECT_EQ(tree("prefix(0)"), "prefix[0]");
    EXPECT_EQ(tree("prefix(9223372036854775807)"), "prefix[9223372036854775807]");
    EXPECT_EQ(tree("dilated(1)"), "dilated[1]");
    EXPECT_EQ(tree("dilated(4, bottom_right)"), "dilated[4]@bottom_right");
    EXPECT_EQ(tree("strided(4)"), "strided[4]");
    EXPECT_EQ(tree("strided(4, 4)"), "strided[4][4]");
    EXPECT_EQ(tree("blocks(64, 32)"), "blocks[64][32]");
    EXPECT_EQ(tree("documents & lengths | tensor"), "(| (& documents lengths) tensor)");
}

TEST(MaskTree, BindsNotThenAndThenOr) {
    EXPECT_EQ(tree("causal | window(1,1) & prefix(2)"), "(| causal (& window[1][1] prefix[2]))");
    EXPECT_EQ(tree("!causal & prefix(2)"), "(& (! causal) prefix[2])");
    EXPECT_EQ(tree("!(causal & prefix(2))"), "(! (& causal prefix[2]))");
    EXPECT_EQ(tree("(causal | window(1,1)) & prefix(2)"), "(& (| causal window[1][1]) prefix[2])");
    EXPECT_EQ(tree("!!causal"), "causal");
    EXPECT_EQ(tree("!!!causal"), "(! causal)");
    EXPECT_EQ(tree("causal&prefix(1)&prefix(2)"), "(& causal prefix[1] prefix[2])");
    EXPECT_EQ(tree("causal|prefix(1)|prefix(2)"), "(| causal prefix[1] prefix[2])");
    EXPECT_EQ(tree("((causal))"), "causal");
}

TEST(MaskTree, ListsParametersInOrderOfAppearance) {
    const ParseResult result = parse_mask("window(left, 0) & prefix(P) | window(right, left, top_left)", {true});
    ASSERT_TRUE(result.ok()) << result.error;
    EXPECT_EQ(result.mask.parameters, (std::vector<std::string>{"left", "P", "right"}));
    EXPECT_EQ(show(result.mask.root), "(| (& window[#0][0] prefix[#1]) window[#2][#0]@top_left)");
    EXPECT_EQ(tree("dilated(a) & strided(b, a) & strided(2, c) & blocks(64, d)", true),
              "(& dilated[#0] strided[#1][#0] strided[2][#2] blocks[64][#3])");
}

TEST(MaskTree, FindsTheFirstTermWithoutAnAlignment) {
    const auto first = [](std::string_view text) {
        const ParseResult result = parse_mask(text);
        const MaskNode *node = first_unaligned(result.mask.root);
        return node ? std::string(name_of(node->kind)) : "";
    };
    EXPECT_EQ(first("none"), "");
    EXPECT_EQ(first("prefix(3)"), "");
    EXPECT_EQ(first("causal(top_left) & window(1, 1, bottom_right)"), "");
    EXPECT_EQ(first("causal(top_left) | prefix(3) & !window(1, 1)"), "window");
    EXPECT_EQ(first("causal"), "causal");
    EXPECT_EQ(first("documents & dilated(2)"), "dilated");
    EXPECT_EQ(first("dilated(2, top_left) & strided(2) & blocks(1, 1) & lengths & tensor"), "");
}

TEST(MaskTree, TakesAMaskOfFullLength) {
    std::string text = "causal";
    while (text.size() + 7 <= max_text_length)
        text += "|causal";
    EXPECT_TRUE(parse_mask(text).ok());
}

TEST(MaskTree, TakesBracketsOfFullDepth) {
    const std::string open(max_mask_depth, '('), close(max_mask_depth, ')');
    EXPECT_EQ(tree(open + "causal" + close), "causal");
}

} // namespace
} // namespace attune::text::mask_tree_test
