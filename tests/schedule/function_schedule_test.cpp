// Every schedule of softmax, the positional encodings and the attention weights, for every machine.
#include "compare.h"
#include "dsl/attention_weights.h"
#include "jit_attention.h"
#include "position_oracle.h"
#include "random.h"
#include "schedules/table.h"
#include "softmax_oracle.h"
#include "targets.h"

namespace attune::test {
namespace {

class FunctionSchedule : public SeededTestWithParam<Halide::Target> {
protected:
    /** Calls f(entry) for every entry of a table. */
    template <typename Table, typename F> void for_each_entry(const Table &table, F f) const {
        for (const auto &entry : table) {
            SCOPED_TRACE(entry.name);
            f(entry);
        }
    }
    template <typename T> Tensor<T> realize(Halide::Func f, const Extents &extents) const {
        Tensor<T> out(extents);
        Halide::Buffer<T> buffer = buffer_of(out);
        f.realize(buffer, GetParam());
        EXPECT_TRUE(out.canaries_intact());
        return out;
    }

    const schedules::Machine machine = schedules::machine(GetParam());
};

std::string name(const ::testing::TestParamInfo<Halide::Target> &info) { return name_of_target(info.param); }
INSTANTIATE_TEST_SUITE_P(Machines, FunctionSchedule, ::testing::ValuesIn(runnable_targets()), name);

TEST_P(FunctionSchedule, SoftmaxIsExact) {
    const Tensor<float> x({3, 77});
    random.fill_normal(x, 3);
    Halide::Buffer<float> input = buffer_of(x);
    for (bool log : {false, true})
        for_each_entry(schedules::softmax_schedules(), [&](const schedules::SoftmaxSchedule &schedule) {
            const dsl::Softmax s = dsl::softmax(Halide::Func(input), 77, 0.8f, {log, schedule.shape(machine, 0, 77)});
            schedule.apply(s, machine);
            const std::vector<double> exact = softmax_in_double(x, 0.8f, log), rounded = softmax_in_float(x, 0.8f, log);
            EXPECT_TRUE(agrees(to_double(realize<float>(s.result, x.extent)), exact,
                               twice_rounded(exact, rounded, std::max(1.0, largest_magnitude(exact)))));
        });
}

TEST_P(FunctionSchedule, RotaryIsExact) {
    const Tensor<float> x({2, 3, 5, 23});
    random.fill_normal(x);
    Halide::Buffer<float> input = buffer_of(x);
    for (bool half : {false, true})
        for_each_entry(schedules::rotary_schedules(), [&](const schedules::RotarySchedule &schedule) {
            const auto layout = half ? dsl::RotaryLayout::half : dsl::RotaryLayout::interleaved;
            const dsl::Rotary r = dsl::rotary(Halide::Func(input), layout, 18, Halide::Expr(10000.0), 1000);
            schedule.apply(r, machine);
            EXPECT_TRUE(agrees(to_double(realize<float>(r.output, x.extent)),
                               rotary_in_long_double(x, 10000, half ? RotaryLayout::half : RotaryLayout::interleaved, 18, 1000),
                               {3e-6, 1, 0}));
        });
}

TEST_P(FunctionSchedule, SinusoidalIsExact) {
    for_each_entry(schedules::sinusoidal_schedules(), [&](const schedules::SinusoidalSchedule &schedule) {
        const dsl::Sinusoidal s = dsl::sinusoidal(37, Halide::Expr(10000.0), 1000);
        schedule.apply(s, machine);
        EXPECT_TRUE(agrees(to_double(realize<float>(s.table, {5, 37})), sinusoidal_in_long_double(5, 37, 10000, 1000), {3e-7, 0, 0}));
    });
}

TEST_P(FunctionSchedule, WeightsAreExact) {
    AttentionProblem p = normal_problem({2, 4, 2, 19, 37, 10, 10}, random);
    p.mask = "causal & window(20, 0) | prefix(3)";
    p.offsets = {18, -5};
    p.softcap = 3, p.temperature = 0.7f;
    p.boolean_mask = Tensor<uint8_t>({1, 4, 1, 37});
    random.fill_boolean(*p.boolean_mask, 0.8);
    const AttentionAnswer exact = attention_in_double(p), rounded = attention_in_float(p);
    Tensor<float> lse({2, 4, 19});
    size_t row = 0;
    lse.each([&](float &value) { value = float(exact.lse[row++]); });
    Halide::Buffer<float> rows = buffer_of(lse);
    JitAttention jit;
    jit.bind(p);
    for_each_entry(schedules::weights_schedules(), [&](const schedules::WeightsSchedule &schedule) {
        const dsl::AttentionWeights w = dsl::attention_weights(jit.inputs(), Halide::Func(rows));
        schedule.apply(w, machine);
        const std::vector<double> got = to_double(realize<float>(w.result, {2, 4, 19, 37}));
        EXPECT_TRUE(agrees(got, exact.weights, twice_rounded(exact.weights, rounded.weights, 1)));
        for (size_t cell = 0; cell < got.size(); cell++)
            ASSERT_TRUE(got[cell] == 0 || !exact.masked[cell]) << "cell " << cell << " is masked";
    });
}

} // namespace
} // namespace attune::test
