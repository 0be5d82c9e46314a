// The runtime's tables of positions for attention, and positions applied to q and k in each element type.
#include "runtime/src/attention/positions.h"

#include "compare.h"
#include "half.h"
#include "kernels.h"
#include "position_oracle.h"
#include "random.h"

namespace attune::test {
namespace {

using runtime::PositionInput;

class PositionTables : public SeededTest {
protected:
    PositionInput input(const char *text, int64_t queries, int64_t keys) {
        position = text::parse_position(text).position;
        return {&position, 2, queries, keys, 20};
    }
    /** Expects x, all at once q or k of input `in`, to be turned to `where`, in every type. */
    void expect_applied(const attune_tensor &table, int64_t tokens, const PositionOf &where) {
        RotaryModel model;
        model.width = 20;
        const Tensor<float> x({2, 3, tokens, 20}, Layout::tokens_first());
        x.each([&](float &value) { value = static_cast<float>(random.between(-16, 16)) / 8; });
        const std::vector<double> exact = rotary_in_long_double(x, model, where);
        expect_applied(x.view(), table, exact, {1e-4, 1, 0});
        // The values, small multiples of 1/8, fit exactly. |x| < 4: half an ulp is 2^-10, 2^-7.
        for (attune_type type : {ATTUNE_F16, ATTUNE_BF16})
            expect_applied(HalfTensor(type, x).view(), table, exact, {1e-4 + (type == ATTUNE_F16 ? 1.0 / 1024 : 1.0 / 128)});
    }
    void expect_applied(const attune_tensor &x, const attune_tensor &table, const std::vector<double> &exact, const Tolerance &tolerance) {
        runtime::Scratch<char> memory(call);
        attune_tensor result;
        const runtime::Status status = apply_position(position, x, table, call, memory, result);
        ASSERT_TRUE(status.ok()) << status.message;
        std::vector<double> got;
        for (size_t i = 0; i < exact.size(); i++)
            got.push_back(x.type == ATTUNE_F32 ? double(static_cast<const float *>(result.data)[i])
                                               : half_value(x.type, static_cast<const uint16_t *>(result.data)[i]));
        EXPECT_TRUE(agrees(got, exact, tolerance, 1)) << "type " << x.type;
    }
    void expect_tables(const PositionInput &in, const PositionOf &query, const PositionOf &key) {
        const bool offset_given = in.offset != 0 || in.offsets;
        const runtime::Status checked = check_position_input(in, offset_given);
        ASSERT_TRUE(checked.ok()) << checked.message;
        runtime::Scratch<float> memory(call);
        attune_tensor query_table, key_table;
        const runtime::Status status = make_position_tables(in, call, memory, query_table, key_table);
        ASSERT_TRUE(status.ok()) << status.message;
        expect_applied(query_table, in.queries, query);
        expect_applied(key_table, in.keys, key);
    }

    runtime::Call call{nullptr};
    text::Position position;
};

PositionOf from(int64_t first) {
    return [first](int64_t, int64_t, int64_t token) { return first + token; };
}

TEST_F(PositionTables, CountOnFromTheOffset) {
    expect_tables(input("rotary(half)", 9, 9), from(0), from(0));
    for (int64_t offset : {4, -3, 100000, -100000}) {
        PositionInput in = input("rotary(half)", 5, 9);
        in.offset = offset;
        expect_tables(in, from(offset), from(0));
    }
}

TEST_F(PositionTables, FollowTheNamedAlignment) {
    PositionInput in = input("rotary(half, bottom_right)", 5, 9);
    expect_tables(in, from(4), from(0));
    in = input("rotary(half, top_left)", 5, 9);
    in.offset = 2;
    expect_tables(in, from(0), from(0));
}

TEST_F(PositionTables, HaveAnOffsetForEachItem) {
    Tensor<int64_t> offsets({2});
    offsets(0) = 3, offsets(1) = -50;
    const attune_tensor view = offsets.view();
    PositionInput in = input("rotary(half)", 5, 9);
    in.offsets = &view;
    expect_tables(
        in, [&](int64_t, int64_t batch, int64_t token) { return offsets(batch) + token; }, from(0));
}

TEST_F(PositionTables, AreThoseGiven) {
    Tensor<int32_t> queries({2, 9}), keys({9});
    queries.each([&](int32_t &value) { value = static_cast<int32_t>(random.between(-999, 999)); });
    keys.each([&](int32_t &value) { value = static_cast<int32_t>(random.between(-999, 999)); });
    const attune_tensor query_view = queries.view(), key_view = keys.view();
    const PositionOf query = [&](int64_t, int64_t batch, int64_t token) -> int64_t { return queries(batch, token); };
    PositionInput in = input("rotary(half)", 9, 9);
    in.positions = &query_view;
    expect_tables(in, query, query);
    in.key_positions = &key_view;
    expect_tables(in, query, [&](int64_t, int64_t, int64_t token) -> int64_t { return keys(token); });
    in.key_positions = nullptr, in.keys = 30;
    expect_tables(in, query, from(0));
}

TEST_F(PositionTables, LearnedRowsAreReadWhereTheyLie) {
    const Tensor<float> rows({12, 20}, {{}, 4});
    random.fill_normal(rows);
    const attune_tensor view = rows.view();
    PositionInput in = input("learned", 5, 9);
    in.position_table = &view, in.offset = 7;
    ASSERT_TRUE(check_position_input(in, true).ok());
    runtime::Scratch<float> memory(call);
    attune_tensor query_table, key_table;
    ASSERT_TRUE(make_position_tables(in, call, memory, query_table, key_table).ok());
    EXPECT_EQ(query_table.data, &rows(7, 0));
    EXPECT_EQ(key_table.data, rows.data());
    EXPECT_EQ(key_table.stride[0], 0);
    EXPECT_EQ(key_table.stride[1], 24);
}

TEST_F(PositionTables, RefusesWhatHeadsCannotHave) {
    const auto expect_refused = [&](const char *position, const char *sentence) {
        const PositionInput in = input(position, 9, 9);
        EXPECT_EQ(runtime::check_position(*in.position, in.head_dim).message, sentence);
    };
    expect_refused("rotary(half, width=24)", "width is 24; it must be even and 2 to D = 20, or 0 for all of D");
    expect_refused("rotary(half, axes=3)", "axes is 3; it must divide the 10 pairs of channels rotated");
    expect_refused("rotary(half, sections=mrope(4, 4))", "sections add up to 8; they must to 10, half of the 20 channels rotated");
}

TEST_F(PositionTables, RefusesWhatHasNoPlace) {
    const auto expect_refused = [&](const PositionInput &in, const char *sentence) {
        EXPECT_EQ(check_position_input(in, false).message, sentence);
    };
    expect_refused(input("rotary(half)", 5, 9),
                   "the position names no alignment, and N = 5 differs from M = 9; give an offset or positions, "
                   "or name top_left or bottom_right in rotary");
    expect_refused(input("learned", 9, 9), "position_table is NULL; the position learned needs one");
    const Tensor<float> rows({8, 20});
    const attune_tensor view = rows.view();
    PositionInput in = input("learned", 9, 9);
    in.position_table = &view;
    expect_refused(in, "there are 9 tokens; they must be at most 8, so that their positions are rows of the table");
    in = input("sinusoidal", 9, 9);
    in.position_table = &view;
    expect_refused(in, "position_table is given; only the position learned reads it");
    in = input("none", 9, 9);
    in.key_positions = &view;
    expect_refused(in, "key_positions is given; there is no position that reads it");
}

} // namespace
} // namespace attune::test
