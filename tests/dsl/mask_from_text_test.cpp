// The textual masks as Halide predicates: cell by cell what text/evaluate.h says.
#include <gtest/gtest.h>

#include "generators/mask_from_text.h"
#include "text/evaluate.h"

namespace attune::test::mask_from_text_test {
namespace {

using Halide::Buffer;
using Halide::Func;
using Halide::Var;

constexpr int queries = 7, keys = 11, batch = 2;
constexpr int query_block = 3, key_block = 4;

/** Data for every term, different in each batch item, as kernels get it. */
struct Data {
    Buffer<int32_t> offsets{batch}, params{2}, lengths{batch}, query_documents{queries, batch}, key_documents{keys, batch};
    Buffer<uint8_t> block_map{(keys + key_block - 1) / key_block, (queries + query_block - 1) / query_block, 1, batch};
    Buffer<uint8_t> attend{keys, queries, 1, batch};

    Data() {
        offsets(0) = 4, offsets(1) = -2;
        params(0) = 2, params(1) = 3;
        lengths(0) = 11, lengths(1) = 5;
        query_documents.for_each_element([&](int i, int b) { query_documents(i, b) = (i + b) / 3; });
        key_documents.for_each_element([&](int j, int b) { key_documents(j, b) = (j + 2 * b) / 4; });
        block_map.for_each_element([&](int c, int r, int h, int b) { block_map(c, r, h, b) = uint8_t((2 * c + r + b) % 3 == 0); });
        attend.for_each_element([&](int j, int i, int h, int b) { attend(j, i, h, b) = uint8_t((i * j + b) % 5 == 0); });
    }

    generators::MaskData funcs() {
        return {Func(offsets), Func(params), Func(lengths), Func(query_documents), Func(key_documents), Func(block_map), Func(attend), {}};
    }
};

class MaskFromText : public ::testing::TestWithParam<const char *> {
protected:
    Data data;
};

TEST_P(MaskFromText, AllowsWhatTheTextMeans) {
    const auto mask = generators::mask_from_text(GetParam(), queries, keys, data.funcs());
    ASSERT_TRUE(mask);
    Var i("i"), j("j"), b("b");
    Func allowed("allowed");
    allowed(j, i, b) = Halide::cast<uint8_t>(mask->allows({b, 0, i, j}));
    const Buffer<uint8_t> got = allowed.realize({keys, queries, batch});

    const text::ParseResult parsed = text::parse_mask(GetParam(), {true});
    ASSERT_TRUE(parsed.ok()) << parsed.error;
    const int64_t params[] = {data.params(0), data.params(1)};
    got.for_each_element([&](int key, int query, int item) {
        const std::vector<int64_t> query_documents(&data.query_documents(0, item), &data.query_documents(0, item) + queries);
        const std::vector<int64_t> key_documents(&data.key_documents(0, item), &data.key_documents(0, item) + keys);
        text::MaskCell cell;
        cell.query = query, cell.key = key, cell.queries = queries, cell.keys = keys;
        cell.offset = data.offsets(item), cell.length = data.lengths(item), cell.parameters = params;
        cell.query_documents = query_documents.data(), cell.key_documents = key_documents.data();
        cell.block = [&](int64_t r, int64_t c) { return data.block_map(int(c), int(r), 0, item) != 0; };
        cell.tensor = [&](int64_t q, int64_t k) { return data.attend(int(k), int(q), 0, item) != 0; };
        EXPECT_EQ(got(key, query, item) != 0, text::allows(parsed.mask.root, cell))
            << "query " << query << ", key " << key << ", batch item " << item;
    });
}

constexpr const char *texts[] = {"causal",
                                 "causal(top_left) | causal(bottom_right) & prefix(3)",
                                 "window(2, -1) & !prefix(b)",
                                 "window(a, b, bottom_right)",
                                 "dilated(3)",
                                 "dilated(3, bottom_right) & causal",
                                 "dilated(a) | dilated(b, top_left)",
                                 "dilated(9223372036854775807)",
                                 "strided(4) | strided(5, 2)",
                                 "strided(b, a)",
                                 "blocks(3, 4)",
                                 "documents & causal",
                                 "!(lengths & tensor)",
                                 "lengths & (documents | tensor) | blocks(3, 4) & strided(2)"};
INSTANTIATE_TEST_SUITE_P(Texts, MaskFromText, ::testing::ValuesIn(texts));

TEST(MaskFromTextNone, IsNoMask) {
    EXPECT_FALSE(generators::mask_from_text("none", queries, keys, {}));
    EXPECT_FALSE(generators::mask_from_text("", queries, keys, {}));
}

TEST(MaskFromTextNone, ABadTextThrowsItsColumn) {
    try {
        generators::mask_from_text("causal & windw(1, 1)", queries, keys, {});
        FAIL() << "nothing thrown";
    } catch (const Halide::CompileError &error) {
        EXPECT_NE(std::string(error.what()).find("column 10: 'windw' isn't a mask"), std::string::npos) << error.what();
    }
}

} // namespace
} // namespace attune::test::mask_from_text_test
