// What each mask says of a cell.
#include <limits>

#include <gtest/gtest.h>

#include "mask_cases.h"

namespace attune::test::mask_predicate_test {
namespace {

using Halide::Buffer;
using Halide::Func;
using Halide::Var;

constexpr int queries = 11, keys = 13, least_offset = -6, offsets = 14;

class MaskPredicate : public ::testing::TestWithParam<MaskCase> {};

std::string name(const ::testing::TestParamInfo<MaskCase> &info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Masks, MaskPredicate, ::testing::ValuesIn(mask_cases()), name);

TEST_P(MaskPredicate, AgreesWithPlainLoops) {
    Var i("i"), j("j"), o("o");
    Func allows("allows");
    allows(j, i, o) = Halide::cast<uint8_t>(GetParam().mask(o + least_offset).allows({0, 0, i, j}));
    const Buffer<uint8_t> got = allows.realize({keys, queries, offsets});
    got.for_each_element([&](int key, int query, int offset) {
        EXPECT_EQ(got(key, query, offset) != 0, GetParam().allows(query, key, offset + least_offset))
            << "query " << query << ", key " << key << ", offset " << offset + least_offset;
    });
}

class MaskOfData : public ::testing::Test {
protected:
    Buffer<uint8_t> evaluate(const dsl::Mask &mask) const {
        Var i("i"), j("j"), h("h"), b("b");
        Func allows("allows");
        allows(j, i, h, b) = Halide::cast<uint8_t>(mask.allows({b, h, i, j}));
        return allows.realize({5, 4, 3, 2});
    }
};

TEST_F(MaskOfData, KeyLengthsHoldPerBatchItem) {
    Buffer<int32_t> lengths(2);
    lengths(0) = 0, lengths(1) = 3;
    const Buffer<uint8_t> got = evaluate(dsl::key_lengths(Func(lengths)));
    got.for_each_element([&](int j, int i, int h, int b) { EXPECT_EQ(got(j, i, h, b) != 0, j < lengths(b)); });
}

TEST_F(MaskOfData, ADocumentAttendsToItself) {
    Buffer<int32_t> of_queries(4, 2), of_keys(5, 2);
    of_queries.for_each_element([&](int i, int b) { of_queries(i, b) = (i + b) / 2 - 1; });
    of_keys.for_each_element([&](int j, int b) { of_keys(j, b) = (j + 2 * b) / 3 - 1; });
    const Buffer<uint8_t> got = evaluate(dsl::documents(Func(of_queries), Func(of_keys)));
    got.for_each_element([&](int j, int i, int h, int b) { EXPECT_EQ(got(j, i, h, b) != 0, of_queries(i, b) == of_keys(j, b)); });
}

TEST_F(MaskOfData, BlocksOfAMapAttend) {
    Buffer<uint8_t> map(3, 2, 3, 2); // blocks of 3 queries and 2 keys
    map.for_each_element([&](int c, int r, int h, int b) { map(c, r, h, b) = uint8_t((c + r + h + b) % 2); });
    const Buffer<uint8_t> got = evaluate(dsl::blocks(Func(map), 3, 2));
    got.for_each_element([&](int j, int i, int h, int b) { EXPECT_EQ(got(j, i, h, b) != 0, map(j / 2, i / 3, h, b) != 0); });
}

TEST_F(MaskOfData, AFarOffsetDilatesAsItsRemainder) {
    for (const int offset : {INT32_MAX, INT32_MIN}) {
        const Buffer<uint8_t> got = evaluate(dsl::dilated(3, offset));
        got.for_each_element([&](int j, int i, int h, int b) { EXPECT_EQ(got(j, i, h, b) != 0, (int64_t(i) + offset - j) % 3 == 0); });
    }
}

TEST_F(MaskOfData, AnyByteButZeroAttends) {
    Buffer<uint8_t> tensor(5, 4, 3, 2);
    tensor.for_each_element([&](int j, int i, int h, int b) { tensor(j, i, h, b) = uint8_t((j + 5 * i + 7 * h + 11 * b) % 4 * 85); });
    const Buffer<uint8_t> got = evaluate(dsl::boolean_tensor(Func(tensor)));
    got.for_each_element([&](int j, int i, int h, int b) { EXPECT_EQ(got(j, i, h, b) != 0, tensor(j, i, h, b) != 0); });
}

TEST_F(MaskOfData, OnlyMinusInfinityInABiasMasks) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float values[] = {-infinity, std::numeric_limits<float>::lowest(), 0, infinity, std::numeric_limits<float>::quiet_NaN()};
    Buffer<float> bias(5, 4, 3, 2);
    bias.for_each_element([&](int j, int i, int h, int b) { bias(j, i, h, b) = values[(j + i + h + b) % 5]; });
    const Buffer<uint8_t> got = evaluate(dsl::finite_bias(Func(bias)));
    got.for_each_element([&](int j, int i, int h, int b) { EXPECT_EQ(got(j, i, h, b) != 0, (j + i + h + b) % 5 != 0); });
}

} // namespace
} // namespace attune::test::mask_predicate_test
