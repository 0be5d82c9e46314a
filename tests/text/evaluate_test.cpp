// What a mask says about single cells, against pictures drawn by hand: a row a query, '#' where it may attend to the key.
#include <gtest/gtest.h>

#include "text/evaluate.h"

namespace attune::text::evaluate_test {
namespace {

/** The mask of the text, drawn; `cell` holds all but the query and the key. */
std::string draw(std::string_view text, MaskCell cell) {
    const ParseResult result = parse_mask(text, {true});
    EXPECT_TRUE(result.ok()) << result.error;
    std::string picture;
    std::vector<uint8_t> row(static_cast<size_t>(cell.keys));
    for (cell.query = 0; cell.query < cell.queries; ++cell.query) {
        cell.key = 0;
        allows(result.mask.root, cell, cell.keys, row.data());
        for (; cell.key < cell.keys; ++cell.key) {
            const bool one = allows(result.mask.root, cell);
            EXPECT_EQ(one, row[static_cast<size_t>(cell.key)] != 0);
            picture += one ? '#' : '.';
        }
        picture += ' ';
    }
    return picture;
}

MaskCell cells(int64_t queries, int64_t keys, int64_t offset = 0) {
    MaskCell cell;
    cell.queries = queries, cell.keys = keys, cell.offset = offset;
    return cell;
}

TEST(Evaluate, Terms) {
    EXPECT_EQ(draw("none", cells(2, 3)), "### ### ");
    EXPECT_EQ(draw("causal", cells(3, 3)), "#.. ##. ### ");
    EXPECT_EQ(draw("window(1, 0)", cells(3, 3)), "#.. ##. .## ");
    EXPECT_EQ(draw("window(-1, 0)", cells(3, 3)), "#.. ##. ### ");
    EXPECT_EQ(draw("window(0, -1)", cells(3, 3)), "### .## ..# ");
    EXPECT_EQ(draw("prefix(2)", cells(2, 3)), "##. ##. ");
    EXPECT_EQ(draw("dilated(2)", cells(3, 5)), "#.#.# .#.#. #.#.# ");
    EXPECT_EQ(draw("strided(3)", cells(1, 7)), "#..#..# ");
    EXPECT_EQ(draw("strided(3, 2)", cells(1, 7)), "##.##.# ");
}

TEST(Evaluate, OffsetsAndAlignments) {
    EXPECT_EQ(draw("causal", cells(2, 4, 1)), "##.. ###. ");
    EXPECT_EQ(draw("causal", cells(2, 3, -1)), "... #.. ");
    EXPECT_EQ(draw("causal(top_left)", cells(2, 4, 1)), "#... ##.. ");
    EXPECT_EQ(draw("causal(bottom_right)", cells(2, 4, 1)), "###. #### ");
    EXPECT_EQ(draw("causal(bottom_right)", cells(3, 2)), ".. #. ## ");
    EXPECT_EQ(draw("dilated(3)", cells(2, 5, -1)), "..#.. #..#. ");
}

TEST(Evaluate, NumbersAtTheEndsOf64Bits) {
    EXPECT_EQ(draw("window(9223372036854775807, 9223372036854775807)", cells(2, 2)), "## ## ");
    EXPECT_EQ(draw("causal", cells(2, 2, INT64_MAX)), "## ## ");
    EXPECT_EQ(draw("causal", cells(2, 2, INT64_MIN)), ".. .. ");
    EXPECT_EQ(draw("!window(9223372036854775807, 0)", cells(2, 2, INT64_MIN)), "## ## ");
    EXPECT_EQ(draw("dilated(9223372036854775807)", cells(2, 2)), "#. .# ");
}

TEST(Evaluate, Operators) {
    EXPECT_EQ(draw("!causal", cells(2, 2)), ".# .. ");
    EXPECT_EQ(draw("causal | prefix(2)", cells(3, 3)), "##. ##. ### ");
    EXPECT_EQ(draw("causal & window(0, 0) | prefix(1)", cells(3, 3)), "#.. ##. #.# ");
    EXPECT_EQ(draw("causal & !prefix(1) & dilated(1)", cells(3, 3)), "... .#. .## ");
}

TEST(Evaluate, Parameters) {
    const int64_t values[] = {2, 1};
    MaskCell cell = cells(2, 3);
    cell.parameters = values;
    EXPECT_EQ(draw("prefix(a) | window(0, b)", cell), "##. ### ");
}

TEST(Evaluate, Data) {
    const int64_t query_documents[] = {7, -1}, key_documents[] = {7, 7, -1};
    MaskCell cell = cells(2, 3);
    cell.query_documents = query_documents, cell.key_documents = key_documents;
    cell.length = 2;
    cell.tensor = [](int64_t query, int64_t key) { return query + key == 2; };
    EXPECT_EQ(draw("documents", cell), "##. ..# ");
    EXPECT_EQ(draw("lengths", cell), "##. ##. ");
    EXPECT_EQ(draw("tensor", cell), "..# .#. ");
    EXPECT_EQ(draw("documents & lengths | tensor", cell), "### .#. ");
}

TEST(Evaluate, Blocks) {
    MaskCell cell = cells(3, 5);
    cell.block = [](int64_t query_block, int64_t key_block) { return query_block == 0 ? key_block != 1 : key_block == 1; };
    EXPECT_EQ(draw("blocks(2, 2)", cell), "##..# ##..# ..##. ");
}

} // namespace
} // namespace attune::text::evaluate_test
