// One test for each bad argument of the linear layer.
#include "function_errors.h"

namespace attune::test::linear_error_test {
namespace {

struct GoodLinear {
    Tensor<float> weight{{6, 4}}, gate{{6, 4}}, bias{{6}}, x{{2, 3, 4}}, y{{2, 3, 6}, {{}, 2}}, residual{{2, 3, 6}};
    attune_tensor gate_view = gate.view(), bias_view = bias.view(), residual_view = residual.view();
    attune_linear_desc desc;
    attune_linear_args args;
    attune_call call = ATTUNE_CALL_INIT;
    attune_linear_desc *desc_pointer = &desc;
    attune_linear_args *pointer = &args;
    bool without_layer = false;

    GoodLinear() {
        for (const Tensor<float> *tensor : {&weight, &gate, &bias, &x, &residual})
            tensor->fill(1);
        attune_linear_desc_init(&desc), attune_linear_args_init(&args);
        desc.weight = weight.view(), desc.gate = &gate_view, desc.bias = &bias_view, desc.activation = ATTUNE_SILU;
        args.x = x.view(), args.y = y.view(), args.residual = &residual_view;
    }
    GoodLinear(const GoodLinear &) = delete;

    attune_status run() {
        attune_linear *linear = nullptr;
        attune_status status = without_layer ? ATTUNE_OK : attune_linear_create(desc_pointer, &linear);
        if (status == ATTUNE_OK) status = attune_linear_run(linear, pointer, &call);
        attune_linear_destroy(linear);
        return status;
    }
    bool outputs_untouched() const { return y.untouched(); }
};

class LinearError : public ::testing::TestWithParam<BadCall<GoodLinear>> {};

TEST(LinearErrorControl, TheGoodCallRuns) { EXPECT_EQ(GoodLinear().run(), ATTUNE_OK) << attune_error_message(); }

TEST(LinearErrorControl, NothingOfNothing) {
    EXPECT_EQ(attune_linear_kernel_for(nullptr, 1), nullptr);
    EXPECT_EQ(attune_linear_in(nullptr) + attune_linear_out(nullptr), 0);
    EXPECT_EQ(attune_linear_bytes(nullptr), 0u);
    const GoodLinear g;
    EXPECT_EQ(attune_linear_create(&g.desc, nullptr), ATTUNE_INVALID_ARGUMENT);
}

TEST_P(LinearError, IsNamedAndNothingIsWritten) { expect_bad(GetParam()); }

const BadCall<GoodLinear> linear_errors[] = {
    {"NoDesc", [](GoodLinear &g) { g.desc_pointer = nullptr; }, {"desc", "NULL"}},
    {"DescOfAnotherSize", [](GoodLinear &g) { g.desc.struct_size = 3; }, {"desc.struct_size", "3"}},
    {"DtypeF16", [](GoodLinear &g) { g.desc.dtype = ATTUNE_F16; }, {"desc.dtype is f16; it must be f32 or bf16"}},
    {"ActivationUnknown", [](GoodLinear &g) { g.desc.activation = static_cast<attune_activation>(9); }, {"desc.activation", "9"}},
    {"ScheduleUnknown", [](GoodLinear &g) { g.desc.schedule = "quick"; }, {"quick", "tiles", "rows"}},
    {"WeightNull", [](GoodLinear &g) { g.desc.weight.data = nullptr; }, {"weight.data", "NULL"}},
    {"WeightType", [](GoodLinear &g) { g.desc.weight.type = ATTUNE_I32; }, {"weight.type", "i32"}},
    {"WeightRank", [](GoodLinear &g) { g.desc.weight.rank = 1; }, {"weight.rank", "1", "2"}},
    {"WeightWithoutOutputs", [](GoodLinear &g) { g.desc.weight.extent[0] = 0; }, {"weight.extent[0]", "0", "1"}},
    {"GateOfOtherInputs", [](GoodLinear &g) { g.gate_view.extent[1] = 3; }, {"gate.extent[1]", "3", "4"}},
    {"BiasOfOtherOutputs", [](GoodLinear &g) { g.bias_view.extent[0] = 5; }, {"bias.extent[0]", "5", "6"}},
    {"BiasType", [](GoodLinear &g) { g.bias_view.type = ATTUNE_F16; }, {"bias.type", "f16"}},
    {"NoLayer", [](GoodLinear &g) { g.without_layer = true; }, {"linear", "NULL"}},
    {"NoArgs", [](GoodLinear &g) { g.pointer = nullptr; }, {"args", "NULL"}},
    {"ArgsOfAnotherSize", [](GoodLinear &g) { g.args.struct_size = 3; }, {"args.struct_size", "3"}},
    {"ThreadsNegative", [](GoodLinear &g) { g.call.threads = -1; }, {"threads", "-1"}},
    {"XOfOtherChannels", [](GoodLinear &g) { g.args.x.extent[2] = 3; }, {"x has 3 channels", "[6, 4] takes 4"}},
    {"YOfOtherChannels", [](GoodLinear &g) { g.args.y.extent[2] = 5; }, {"y has 5 channels", "[6, 4] gives 6"}},
    {"YOfOtherRows", [](GoodLinear &g) { g.args.y.extent[1] = 2; }, {"y.extent[1]", "2", "3"}},
    {"YOfAnotherRank", [](GoodLinear &g) { g.args.y.rank = 2; }, {"y.rank", "2", "3"}},
    {"XType", [](GoodLinear &g) { g.args.x.type = ATTUNE_BF16; }, {"x.type", "bf16", "f32"}},
    {"XInnermostStride", [](GoodLinear &g) { g.args.x.stride[2] = 2; }, {"x.stride[2]", "2", "1"}},
    {"YOverX", [](GoodLinear &g) { g.args.y.data = g.args.x.data; }, {"y overlaps x"}},
    {"ResidualOfOtherRows", [](GoodLinear &g) { g.residual_view.extent[0] = 1; }, {"residual.extent[0]", "1", "2"}},
    {"YOverPartOfResidual",
     [](GoodLinear &g) { g.args.y.data = static_cast<float *>(g.residual_view.data) + 3; },
     {"y overlaps residual", "apart"}},
};

INSTANTIATE_TEST_SUITE_P(Arguments, LinearError, ::testing::ValuesIn(linear_errors), bad_call_name<GoodLinear>);

} // namespace
} // namespace attune::test::linear_error_test
