// One test for each bad argument of an attention run: code, sentence, and outputs left alone.
#include <algorithm>
#include <cmath>
#include <limits>

#include "error_test.h"

namespace attune::test::attention_error_test {
namespace {

using Good = GoodAttention;
using Bad = BadCall<Good>;
constexpr int64_t past_int32 = int64_t(1) << 31;

class AttentionError : public ::testing::TestWithParam<Bad> {};

TEST(AttentionErrorControl, TheGoodCallRuns) {
    Good good;
    EXPECT_EQ(good.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_FALSE(good.outputs_untouched());
}

TEST_P(AttentionError, IsNamedAndNothingIsWritten) {
    Good call;
    GetParam().spoil(call);
    expect_error(call.run(), GetParam().status, GetParam().words);
    EXPECT_TRUE(call.outputs_untouched());
}

/** An attune_tensor of a good call, by name, to spoil in every way. */
struct NamedTensor {
    const char *name;
    attune_tensor &(*of)(Good &);
    int32_t rank;
    bool output, contiguous;
};
const NamedTensor tensors[] = {
    {"q", [](Good &g) -> attune_tensor & { return g.args.q; }, 4, false, true},
    {"k", [](Good &g) -> attune_tensor & { return g.args.k; }, 4, false, true},
    {"v", [](Good &g) -> attune_tensor & { return g.args.v; }, 4, false, true},
    {"out", [](Good &g) -> attune_tensor & { return g.args.out; }, 4, true, true},
    {"lse", [](Good &g) -> attune_tensor & { return g.lse_view; }, 3, true, false},
    {"weights", [](Good &g) -> attune_tensor & { return g.weights_view; }, 4, true, false},
    {"scores", [](Good &g) -> attune_tensor & { return g.scores_view; }, 4, true, false},
    {"bias", [](Good &g) -> attune_tensor & { return g.bias_view; }, 4, false, false},
    {"boolean_mask", [](Good &g) -> attune_tensor & { return g.boolean_view; }, 4, false, false},
    {"key_lengths", [](Good &g) -> attune_tensor & { return g.lengths_view; }, 1, false, false},
    {"block_map", [](Good &g) -> attune_tensor & { return g.block_view; }, 4, false, false},
    {"documents", [](Good &g) -> attune_tensor & { return g.documents_view; }, 2, false, false},
    {"query_documents", [](Good &g) -> attune_tensor & { return g.query_documents_view; }, 2, false, false},
    {"t5_table", [](Good &g) -> attune_tensor & { return g.t5_view; }, 2, false, false},
    {"sinks", [](Good &g) -> attune_tensor & { return g.sinks_view; }, 1, false, false},
    {"offsets", [](Good &g) -> attune_tensor & { return g.offsets_view; }, 1, false, false},
};

void PrintTo(const NamedTensor &tensor, std::ostream *stream) { *stream << tensor.name; }

class AttentionTensorError : public ::testing::TestWithParam<NamedTensor> {
protected:
    void expect(const std::function<void(attune_tensor &)> &spoil, std::vector<std::string> words,
                attune_status status = ATTUNE_INVALID_ARGUMENT) {
        Good call;
        spoil(GetParam().of(call));
        words.push_back(GetParam().name);
        expect_error(call.run(), status, words);
        EXPECT_TRUE(call.outputs_untouched());
    }
};

TEST_P(AttentionTensorError, Null) {
    expect([](attune_tensor &t) { t.data = nullptr; }, {"NULL"});
}
TEST_P(AttentionTensorError, Misaligned) {
    if (Good good; GetParam().of(good).type == ATTUNE_BOOL) GTEST_SKIP() << "bytes are never misaligned";
    expect([](attune_tensor &t) { t.data = static_cast<char *>(t.data) + 1; }, {"data"});
}
TEST_P(AttentionTensorError, Type) {
    expect([](attune_tensor &t) { t.type = ATTUNE_F16; }, {".type is f16; it must be "});
}
TEST_P(AttentionTensorError, NoType) {
    expect([](attune_tensor &t) { t.type = static_cast<attune_type>(99); }, {".type is 99; it must be "});
}
TEST_P(AttentionTensorError, Device) {
    expect([](attune_tensor &t) { t.device = static_cast<attune_device>(7); }, {"device", "7"}, ATTUNE_UNSUPPORTED);
}
TEST_P(AttentionTensorError, Rank) {
    expect([](attune_tensor &t) { t.rank++; }, {"rank", std::to_string(GetParam().rank + 1), std::to_string(GetParam().rank)});
    expect([](attune_tensor &t) { t.rank = 0; }, {"rank", "0"});
    expect([](attune_tensor &t) { t.rank = -1; }, {"rank", "-1"});
    expect([](attune_tensor &t) { t.rank = 1000; }, {"rank", "1000"});
}
TEST_P(AttentionTensorError, NegativeExtent) {
    expect([](attune_tensor &t) { t.extent[0] = -2; }, {"extent[0]", "-2"});
}
TEST_P(AttentionTensorError, ExtentPastInt32) {
    expect([](attune_tensor &t) { t.extent[t.rank - 1] = past_int32; }, {"extent", "2147483648", "2147483647"});
}
TEST_P(AttentionTensorError, ExtentsThatDisagree) {
    for (int32_t axis = 0; axis < GetParam().rank; axis++)
        expect([axis](attune_tensor &t) { t.extent[axis] = 3; }, {"3"});
}
TEST_P(AttentionTensorError, StridePastInt32) {
    // Along an axis that has more than one element: the strides of others don't count.
    expect(
        [](attune_tensor &t) {
            *std::find_if(t.stride, t.stride + t.rank, [&](int64_t &s) { return t.extent[&s - t.stride] > 1; }) = past_int32;
        },
        {"stride", "2147483648", "2147483647"});
}
TEST_P(AttentionTensorError, InnermostStride) {
    if (!GetParam().contiguous) GTEST_SKIP() << "any stride will do";
    expect([](attune_tensor &t) { t.stride[3] = 2; }, {"stride[3]", "2", "1"});
}
TEST_P(AttentionTensorError, OutputStrides) {
    if (!GetParam().output) GTEST_SKIP() << "an input";
    expect([](attune_tensor &t) { t.stride[1] = 0; }, {"stride[1]", "0"});
    expect([](attune_tensor &t) { t.stride[1] = -t.stride[1]; }, {"stride[1]", "-"});
    expect([](attune_tensor &t) { t.stride[1] = 1; }, {});
}
TEST_P(AttentionTensorError, OutOverAnInput) {
    if (GetParam().output) GTEST_SKIP() << "an output";
    Good call;
    std::vector<float> shared(4096, 0.0f); // zeros: lengths and offsets that are right, too
    GetParam().of(call).data = shared.data();
    call.args.out.data = shared.data() + 1;
    expect_error(call.run(), ATTUNE_INVALID_ARGUMENT, {"out", "overlap", GetParam().name});
    EXPECT_EQ(shared, std::vector<float>(4096, 0.0f));
}
TEST_P(AttentionTensorError, OutputsOverOneAnother) {
    if (!GetParam().output) GTEST_SKIP() << "an input";
    for (const NamedTensor &other : tensors)
        if (other.output && other.of != GetParam().of) {
            Good call;
            std::vector<float> shared(4096, 0.0f);
            GetParam().of(call).data = other.of(call).data = shared.data();
            expect_error(call.run(), ATTUNE_INVALID_ARGUMENT, {"overlap", GetParam().name, other.name});
            EXPECT_EQ(shared, std::vector<float>(4096, 0.0f));
        }
}
INSTANTIATE_TEST_SUITE_P(Of, AttentionTensorError, ::testing::ValuesIn(tensors),
                         [](const auto &info) { return std::string(info.param.name); });

const Bad numbers[] = {
    {"ScaleNaN", [](Good &g) { g.args.has_scale = 1, g.args.scale = NAN; }, {"scale", "nan", "finite"}},
    {"ScaleInfinite", [](Good &g) { g.args.has_scale = 1, g.args.scale = -INFINITY; }, {"scale", "-inf", "finite"}},
    {"ScaleThatDoesNotCount", [](Good &g) { g.args.scale = 0.5f; }, {"scale", "0.5", "has_scale"}},
    {"OffsetThatDoesNotCount", [](Good &g) { g.args.offset = 3; }, {"offset", "3", "has_offset"}},
    {"SoftcapNaN", [](Good &g) { g.args.softcap = NAN; }, {"softcap", "nan"}},
    {"SoftcapInfinite", [](Good &g) { g.args.softcap = INFINITY; }, {"softcap", "inf"}},
    {"SoftcapNegative", [](Good &g) { g.args.softcap = -2.5f; }, {"softcap", "-2.5", "0"}},
    {"TemperatureNaN", [](Good &g) { g.args.temperature = NAN; }, {"temperature", "nan", "0"}},
    {"TemperatureZero", [](Good &g) { g.args.temperature = 0; }, {"temperature", "0"}},
    {"TemperatureNegative", [](Good &g) { g.args.temperature = -1.5f; }, {"temperature", "-1.5", "0"}},
    {"TemperatureMinusInfinity", [](Good &g) { g.args.temperature = -INFINITY; }, {"temperature", "-inf", "0"}},
    {"LengthNegative", [](Good &g) { g.key_lengths(0) = -1; }, {"key_lengths[0]", "-1", "7"}},
    {"LengthPastM", [](Good &g) { g.key_lengths(1) = 8; }, {"key_lengths[1]", "8", "7"}},
    {"OffsetAndOffsets", [](Good &g) { g.args.has_offset = 1, g.args.offset = 3; }, {"offset", "3", "offsets"}},
    {"NoAlignment", [](Good &g) { g.args.offsets = nullptr; }, {"causal", "N = 5", "M = 7", "bottom_right"}},
    {"NoAlignmentOfT5",
     [](Good &g) { g.args.offsets = nullptr, g.desc.mask = "documents & blocks(1, 2)"; },
     {"t5", "N = 5", "M = 7", "bottom_right"}},
    {"SoftcapTwice", [](Good &g) { g.args.softcap = 2, g.desc.score = "softcap(30) t5(8, 16, causal)"; }, {"softcap", "2", "30"}},
    {"DropoutOne", [](Good &g) { g.args.dropout = 1; }, {"dropout", "1", "0"}},
    {"DropoutNegative", [](Good &g) { g.args.dropout = -0.5f; }, {"dropout", "-0.5", "0"}},
    {"DropoutNaN", [](Good &g) { g.args.dropout = NAN; }, {"dropout", "nan"}},
    {"StageNone", [](Good &g) { g.args.score_stage = static_cast<attune_score_stage>(0); }, {"score_stage", "0", "1", "3"}},
    {"StageUnknown", [](Good &g) { g.args.score_stage = static_cast<attune_score_stage>(4); }, {"score_stage", "4", "SCALED", "MASKED"}},
    {"ParamsOfAKernelThatHasNone", [](Good &g) { g.args.param_count = 1; }, {"param_count", "1", "0"}},
};
INSTANTIATE_TEST_SUITE_P(Numbers, AttentionError, ::testing::ValuesIn(numbers), bad_call_name<Good>);

const Bad shapes[] = {
    {"HeadsInNoGroups",
     [](Good &g) { g.args.k.extent[1] = g.args.v.extent[1] = 3, g.args.k.stride[0] = g.args.v.stride[0] = 0; },
     {"4", "3", "multiple"}},
    {"HeadDimNotThePlans", [](Good &g) { g.desc.head_dim = 10; }, {"8", "10"}},
    {"ValueDimNotThePlans", [](Good &g) { g.desc.value_dim = 5; }, {"6", "5"}},
    {"NoPlan", [](Good &g) { g.run_without_plan = true; }, {"plan", "NULL"}},
    {"NoArgs", [](Good &g) { g.args_pointer = nullptr; }, {"args", "NULL"}},
    {"ArgsOfAnotherSize", [](Good &g) { g.args.struct_size = 12; }, {"struct_size", "12", std::to_string(sizeof(attune_attention_args))}},
    {"CallOfAnotherSize", [](Good &g) { g.call.struct_size = 0; }, {"struct_size", "0", std::to_string(sizeof(attune_call))}},
    {"ThreadsNegative", [](Good &g) { g.call.threads = -3; }, {"threads", "-3", "0"}},
};
INSTANTIATE_TEST_SUITE_P(Shapes, AttentionError, ::testing::ValuesIn(shapes), bad_call_name<Good>);

const Bad terms[] = {
    {"DocumentsMissing", [](Good &g) { g.args.documents = g.args.query_documents = nullptr; }, {"documents", "none is given"}},
    {"DocumentsUnasked", [](Good &g) { g.desc.mask = "causal & blocks(1, 2)"; }, {"documents", "mask"}},
    {"DocumentsOfQueriesAlone", [](Good &g) { g.args.documents = nullptr; }, {"documents", "none is given"}},
    {"DocumentsOfKeysAlone", [](Good &g) { g.args.query_documents = nullptr; }, {"query_documents", "N = 5", "M = 7"}},
    {"DocumentsInBothForms", [](Good &g) { g.args.document_starts = &g.lengths_view; }, {"document_starts", "documents"}},
    {"StartsUnequal",
     [](Good &g) { g.args.document_starts = &g.lengths_view, g.args.documents = g.args.query_documents = nullptr; },
     {"document_starts", "N", "5", "7"}},
    {"BlockMapMissing", [](Good &g) { g.args.block_map = nullptr; }, {"blocks", "block_map", "none is given"}},
    {"BlockMapUnasked", [](Good &g) { g.desc.mask = "documents"; }, {"block_map", "blocks"}},
    {"BlockMapOfOtherBlocks", [](Good &g) { g.desc.mask = "documents & blocks(2, 2)"; }, {"block_map.extent[2]", "5", "3"}},
    {"BlocksThatDisagree", [](Good &g) { g.desc.mask = "documents & (blocks(1, 2) | blocks(1, 3))"; }, {"blocks(1, 2)", "blocks(1, 3)"}},
    {"LengthsMissing",
     [](Good &g) { g.desc.mask = "lengths & documents & blocks(1, 2)", g.args.key_lengths = nullptr; },
     {"lengths", "key_lengths", "none is given"}},
    {"TensorMissing",
     [](Good &g) { g.desc.mask = "tensor & documents & blocks(1, 2)", g.args.boolean_mask = nullptr; },
     {"tensor", "boolean_mask", "none is given"}},
    {"T5TableMissing", [](Good &g) { g.args.t5_table = nullptr; }, {"t5_table", "NULL"}},
    {"T5TableUnasked", [](Good &g) { g.desc.score = "alibi"; }, {"t5_table", "t5"}},
    {"T5TableOfOtherBuckets", [](Good &g) { g.desc.score = "t5(16, 32, causal)"; }, {"t5_table", "8", "16"}},
    {"BiasMissing", [](Good &g) { g.desc.score = "t5(8, 16, causal) bias", g.args.bias = nullptr; }, {"score", "bias", "none is given"}},
    {"PositionsUnasked", [](Good &g) { g.desc.position = nullptr; }, {"positions", "position"}},
    {"PositionTableUnasked", [](Good &g) { g.args.position_table = &g.t5_view; }, {"position_table"}},
    {"PositionTableMissing", [](Good &g) { g.desc.position = "learned"; }, {"position_table", "NULL"}},
    {"PositionPastTheTable", [](Good &g) { g.desc.position = "learned", g.args.position_table = &g.learned_view; }, {"5", "4"}},
    {"PositionsOfOtherTokens", [](Good &g) { g.positions_view.extent[1] = 4; }, {"positions", "4", "5"}},
    {"PositionsType", [](Good &g) { g.positions_view.type = ATTUNE_F32; }, {"positions.type"}},
    {"KeyPositionsOfOtherTokens", [](Good &g) { g.key_positions_view.extent[0] = 6; }, {"key_positions", "6", "7"}},
};
INSTANTIATE_TEST_SUITE_P(Terms, AttentionError, ::testing::ValuesIn(terms), bad_call_name<Good>);

/** Strides of axes of extent 1, and of tensors with no elements, don't count. */
TEST(AttentionErrorControl, StridesOfAxesOfOneElementDontCount) {
    Good good;
    good.bias_view.stride[0] = good.bias_view.stride[2] = past_int32 * 4;
    good.boolean_view.stride[1] = -past_int32 * 4;
    EXPECT_EQ(good.run(), ATTUNE_OK) << attune_error_message();
}

/** Outputs between the inputs' elements share no byte with them, though their spans intersect. */
TEST(AttentionErrorControl, StridesThatProveTensorsApartAreFine) {
    Good good;
    const auto [q, k, v] = packed_qkv(2, 4, 5, 8);
    q.fill(1), k.fill(2), v.fill(3);
    good.args.q = q.view(), good.args.out = v.view();
    good.args.k = k.view(), good.args.v = good.args.k;
    good.args.weights = good.args.scores = nullptr;
    good.args.bias = good.args.boolean_mask = good.args.offsets = good.args.documents = good.args.query_documents = nullptr;
    good.args.block_map = good.args.positions = good.args.key_positions = good.args.t5_table = good.args.sinks = nullptr;
    good.desc.mask = "causal", good.desc.score = good.desc.position = nullptr, good.args.dropout = 0;
    good.key_lengths.fill(5);
    good.desc.value_dim = 8;
    EXPECT_EQ(good.run(), ATTUNE_OK) << attune_error_message();
    EXPECT_EQ(v(1, 3, 4, 7), 2.0f);
    EXPECT_EQ(q(1, 3, 4, 7), 1.0f);
}

} // namespace
} // namespace attune::test::attention_error_test
