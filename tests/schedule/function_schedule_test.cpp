// Every schedule of softmax, merge, relative biases, the positional encodings and the attention weights, for every machine, and for every
// device that can be tried here.
#include <cstdlib>
#include <limits>

#include "compare.h"
#include "dsl/attention/weights.h"
#include "func_of.h"
#include "jit_attention.h"
#include "merge_oracle.h"
#include "position_oracle.h"
#include "random.h"
#include "relative_oracle.h"
#include "schedules/passes.h"
#include "schedules/table.h"
#include "softmax_oracle.h"
#include "targets.h"

/** Compiled in the process, kernels find the runtime's functions here: nothing is streamed. */
extern "C" int64_t attune_least_streamed_bytes() { return std::numeric_limits<int64_t>::max(); }
extern "C" int32_t attune_streamed_bytes_ahead() { return 4096; }
extern "C" int32_t attune_streamed_heads_in_turn() { return 4; }
extern "C" int32_t attune_streamed_tokens_in_turn() { return 1024; }
extern "C" int32_t attune_streams_any_in_turn() { return 0; }
extern "C" int32_t attune_streamed_turns_are_far() { return 0; }
extern "C" int32_t attune_pipelines_all_rows() { return 0; }
extern "C" int attune_stream_begin(char *) { std::abort(); }
extern "C" int attune_stream(char *, char *, int64_t, const char *, int) { std::abort(); }
extern "C" int attune_stream_avx512(char *, char *, int64_t, const char *, int) { std::abort(); }
extern "C" int attune_stream_halves_avx512(char *, char *, int64_t, const char *, int) { std::abort(); }
extern "C" int attune_stream_end(char *) { std::abort(); }

namespace attune::test::function_schedule_test {
namespace {

class FunctionSchedule : public SeededTestWithParam<Halide::Target> {
protected:
    void SetUp() override {
        if (const std::string why = why_not_here(GetParam()); !why.empty()) GTEST_SKIP() << why;
    }

    /** Calls f(entry) for every entry of a table that is for the target's device. */
    template <typename Table, typename F> void for_each_entry(const Table &table, F f) const {
        const std::string device = schedules::device_of(GetParam());
        bool any = false;
        for (const auto &entry : table) {
            if (entry.device != device) continue;
            any = true;
            SCOPED_TRACE(entry.name);
            try {
                f(entry);
            } catch (const Halide::Error &e) {
                ADD_FAILURE() << e.what();
            }
        }
        if (!any) GTEST_SKIP() << "no schedule of it is for " << device;
    }
    /** `declaration`: what add_passes() takes of it, if the generator calls that. */
    template <typename T, typename... Declaration>
    Tensor<T> realize(Halide::Func f, const Extents &extents, const Declaration &...declaration) const {
        Tensor<T> out(extents);
        Halide::Buffer<T> buffer = buffer_of(out);
        Halide::Pipeline pipeline(f);
        if constexpr (sizeof...(declaration) > 0) schedules::add_passes(pipeline, declaration..., machine);
        pipeline.realize(buffer, GetParam());
        buffer.copy_to_host();
        EXPECT_TRUE(out.canaries_intact());
        return out;
    }

    /** Of tables made in f64: Halide writes f64 constants into OpenCL as f32, and the positions tried are some 1000. */
    double table_tolerance() const { return GetParam().has_feature(Halide::Target::OpenCL) ? 1e-4 : 3e-7; }

    const schedules::Machine machine = schedules::machine(GetParam());
};

std::string name(const ::testing::TestParamInfo<Halide::Target> &info) { return name_of_target(info.param); }
INSTANTIATE_TEST_SUITE_P(Machines, FunctionSchedule, ::testing::ValuesIn(runnable_targets()), name);
INSTANTIATE_TEST_SUITE_P(Cuda, FunctionSchedule, ::testing::ValuesIn(cuda_targets()), name);
INSTANTIATE_TEST_SUITE_P(OpenCL, FunctionSchedule, ::testing::Values(opencl_target()), name);

TEST_P(FunctionSchedule, SoftmaxIsExact) {
    const Tensor<float> x({3, 77, 21});
    const Tensor<uint8_t> mask({3, 77, 21});
    random.fill_normal(x, 3), random.fill_boolean(mask, 0.7);
    Halide::Buffer<float> input = buffer_of(x);
    Halide::Buffer<uint8_t> counts = buffer_of(mask);
    const std::pair<AxisKind, dsl::SoftmaxKind> kinds[] = {{AxisKind::softmax, dsl::SoftmaxKind::softmax},
                                                           {AxisKind::log_softmax, dsl::SoftmaxKind::log_softmax},
                                                           {AxisKind::log_sum_exp, dsl::SoftmaxKind::log_sum_exp}};
    for (const auto &table : {schedules::softmax_schedules(), schedules::softmax_columns_schedules()})
        for (const auto &[kind, declared_kind] : kinds)
            for_each_entry(table, [&, kind = kind, declared_kind = declared_kind](const schedules::SoftmaxSchedule &schedule) {
                const dsl::SoftmaxInputs in{Halide::Func(input), Halide::Func(counts), 1, 77, 3, 0.8f};
                const dsl::Softmax s = dsl::softmax(in, {declared_kind, schedule.shape(machine, in)});
                schedule.apply(s, machine);
                const AxisProblem p{kind, x, 1, mask, 0.8f};
                const std::vector<double> exact = along_axis_in_double(p), rounded = along_axis_in_float(p);
                EXPECT_TRUE(agrees(to_double(realize<float>(s.result, {3, kind == AxisKind::log_sum_exp ? 1 : 77, 21}, s)), exact,
                                   twice_rounded(exact, rounded, std::max(1.0, largest_magnitude(exact)))));
            });
}

TEST_P(FunctionSchedule, MergeIsExact) {
    const PartialResult a{Tensor<float>({2, 3, 70, 21}), Tensor<float>({2, 3, 70})},
        b{Tensor<float>({2, 3, 70, 21}), Tensor<float>({2, 3, 70})};
    for (const PartialResult &part : {a, b})
        random.fill_normal(part.out), random.fill_normal(part.lse);
    const MergedResult exact = merge_in_double(a, b);
    for_each_entry(schedules::merge_schedules(), [&](const schedules::MergeSchedule &schedule) {
        const dsl::Merge m = dsl::merge(func_of(a.out), func_of(a.lse), func_of(b.out), func_of(b.lse));
        schedule.apply(m, machine);
        EXPECT_TRUE(agrees(to_double(realize<float>(m.output, a.out.extent)), exact.out, {1e-6, 2, 0}));
    });
}

TEST_P(FunctionSchedule, SlopesAreExact) {
    for_each_entry(schedules::slopes_schedules(), [&](const schedules::SlopesSchedule &schedule) {
        const dsl::AlibiSlopes s = dsl::alibi_slopes(37);
        schedule.apply(s, machine);
        EXPECT_TRUE(agrees(to_double(realize<float>(s.slopes, {37})), slopes_in_double(37), {0, 1, 0}));
    });
}

TEST_P(FunctionSchedule, RelativeBiasIsExact) {
    const T5 t5 = {32, 128, true};
    const Tensor<float> table({32, 3}), slopes({3});
    random.fill_normal(table), random.fill_normal(slopes);
    const Tensor<int32_t> alibi_offsets({2}), t5_offsets({2});
    for (int b : {0, 1})
        alibi_offsets(b) = 10 + b, t5_offsets(b) = -30 * b;
    std::vector<double> exact;
    for (int b : {0, 1})
        for (int h : {0, 1, 2})
            for (int apart = -199; apart < 20; apart++)
                exact.push_back(-slopes(h) * double(std::abs(apart + alibi_offsets(b))) +
                                table(t5_bucket_in_integers(-(apart + t5_offsets(b)), t5), h));
    for_each_entry(schedules::relative_bias_schedules(), [&](const schedules::RelativeBiasSchedule &schedule) {
        const dsl::RelativeBias r =
            dsl::relative_bias({func_of(slopes), func_of(table), func_of(alibi_offsets), func_of(t5_offsets), 1, 1, {32, 128, 1}, 200});
        schedule.apply(r, machine);
        EXPECT_TRUE(agrees(to_double(realize<float>(r.result, {2, 3, 219})), exact, {1e-6, 2, 0}));
    });
}

/** Positions 1000, 1001, ... of two batch items: (token, batch), or (token, stream, batch) of one stream. A buffer, so that its indices
 * are read. */
Halide::Func positions_from_1000(int axes) {
    std::vector<int> extents(axes, 1);
    extents.front() = 5, extents.back() = 2;
    Halide::Buffer<int32_t> positions(extents);
    for (int i = 0; i < 2 * 5; i++)
        positions.data()[i] = 1000 + i % 5;
    positions.set_host_dirty();
    return Halide::Func(positions);
}

/** An unscaled rotary table of 18 channels from position 1000 on, with one stream of positions. */
dsl::RotaryTable table_of_18() {
    const dsl::FrequencyInputs frequencies = {
        18, Halide::Expr(10000.0), 0, Halide::Expr(1.0), Halide::Expr(1.0), Halide::Expr(1.0), Halide::Expr(4.0)};
    Halide::Func ends("ends");
    ends(Halide::Var("stream")) = 9;
    return dsl::rotary_table(frequencies, {positions_from_1000(3), 1, ends});
}

TEST_P(FunctionSchedule, RotaryTableIsExact) {
    Tensor<float> ones({1, 1, 5, 18});
    ones.each([even = true](float &value) mutable { value = std::exchange(even, !even) ? 1.0f : 0.0f; });
    // Interleaved pairs (1, 0) become (cos, sin).
    const std::vector<double> turned = rotary_in_long_double(ones, 10000, RotaryLayout::interleaved, 18, 1000);
    std::vector<double> exact;
    for (int row = 0; row < 5; row++)
        for (int plane = 0; plane < 2; plane++)
            for (int pair = 0; pair < 9; pair++)
                exact.push_back(turned[row * 18 + pair * 2 + plane]);
    for_each_entry(schedules::rotary_table_schedules(), [&](const schedules::RotaryTableSchedule &schedule) {
        const dsl::RotaryTable t = table_of_18();
        schedule.apply(t, machine);
        EXPECT_TRUE(agrees(to_double(realize<float>(t.table, {1, 5, 2, 9})), exact, {table_tolerance(), 0, 0}));
    });
}

TEST_P(FunctionSchedule, RotaryIsExact) {
    const Tensor<float> x({2, 3, 5, 23});
    random.fill_normal(x);
    Halide::Buffer<float> input = buffer_of(x);
    Halide::Func table = table_of_18().table;
    table.compute_root();
    for (bool half : {false, true})
        for_each_entry(schedules::rotary_schedules(), [&](const schedules::RotarySchedule &schedule) {
            const auto layout = half ? dsl::RotaryLayout::half : dsl::RotaryLayout::interleaved;
            const Halide::Expr tokens = input.dim(1).extent();
            const dsl::Rotary r = dsl::rotary(Halide::Func(input), 23, tokens, layout, table, 9, schedule.shape(machine));
            schedule.apply(r, machine);
            EXPECT_TRUE(agrees(to_double(realize<float>(r.output, x.extent, r, input.name())),
                               rotary_in_long_double(x, 10000, half ? RotaryLayout::half : RotaryLayout::interleaved, 18, 1000),
                               {table_tolerance() + 3e-6, 1, 0}));
        });
}

TEST_P(FunctionSchedule, SinusoidalIsExact) {
    for_each_entry(schedules::sinusoidal_schedules(), [&](const schedules::SinusoidalSchedule &schedule) {
        const dsl::Sinusoidal s = dsl::sinusoidal(37, Halide::Expr(10000.0), positions_from_1000(2));
        schedule.apply(s, machine);
        EXPECT_TRUE(agrees(to_double(realize<float>(s.table, {1, 5, 1, 37})), sinusoidal_in_long_double(5, 37, 10000, 1000),
                           {table_tolerance(), 0, 0}));
    });
}

TEST_P(FunctionSchedule, AddPositionsIsExact) {
    const Tensor<float> x({2, 3, 21, 23}), rows({1, 21, 1, 23});
    random.fill_normal(x), random.fill_normal(rows);
    Halide::Buffer<float> input = buffer_of(x), table = buffer_of(rows.broadcast({2, 21, 1, 23}));
    std::vector<double> exact;
    for (int64_t b = 0; b < 2; b++)
        for (int64_t h = 0; h < 3; h++)
            for (int64_t n = 0; n < 21; n++)
                for (int64_t d = 0; d < 23; d++)
                    exact.push_back(double(x(b, h, n, d)) + double(rows(0, n, 0, d)));
    for_each_entry(schedules::add_positions_schedules(), [&](const schedules::AddPositionsSchedule &schedule) {
        const dsl::AddPositions a = dsl::add_positions(Halide::Func(input), Halide::Func(table));
        schedule.apply(a, machine);
        EXPECT_TRUE(agrees(to_double(realize<float>(a.output, x.extent)), exact, {0, 1, 0}));
    });
}

TEST_P(FunctionSchedule, NormsAreExact) {
    const int channels = 1100, rows = 3; // more than a block of threads takes at once
    const Tensor<float> x({rows, channels}), weight({channels}), bias({channels});
    random.fill_normal(x, 1, 5), random.fill_normal(weight), random.fill_normal(bias);
    Halide::Buffer<float> input = buffer_of(x);
    for (dsl::NormKind kind : {dsl::NormKind::layer, dsl::NormKind::rms}) {
        std::vector<double> exact;
        for (int r = 0; r < rows; r++) {
            double sum = 0, squares = 0;
            for (int c = 0; c < channels; c++)
                sum += x(r, c);
            const double mean = kind == dsl::NormKind::layer ? sum / channels : 0;
            for (int c = 0; c < channels; c++)
                squares += (x(r, c) - mean) * (x(r, c) - mean);
            for (int c = 0; c < channels; c++)
                exact.push_back((x(r, c) - mean) / std::sqrt(squares / channels + 1e-5) * weight(c) +
                                (kind == dsl::NormKind::layer ? bias(c) : 0));
        }
        for_each_entry(schedules::norm_schedules(), [&](const schedules::NormSchedule &schedule) {
            const dsl::NormInputs in = {Halide::Func(input), func_of(weight), func_of(bias), channels, 1e-5f, Halide::Float(32)};
            const dsl::Norm n = dsl::norm(kind, in, schedule.shape(machine));
            schedule.apply(n, machine);
            EXPECT_TRUE(agrees(to_double(realize<float>(n.y, x.extent, n, input.name())), exact, {1e-5, 1, 0}));
        });
    }
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
        const dsl::AttentionWeights w = dsl::attention_weights(jit.inputs(), Halide::Func(rows), 0);
        schedule.apply(w, machine);
        const std::vector<double> got = to_double(realize<float>(w.result, {2, 4, 19, 37}));
        EXPECT_TRUE(agrees(got, exact.weights, twice_rounded(exact.weights, rounded.weights, 1)));
        for (size_t cell = 0; cell < got.size(); cell++)
            ASSERT_TRUE(got[cell] == 0 || !exact.masked[cell]) << "cell " << cell << " is masked";
    });
}

} // namespace
} // namespace attune::test::function_schedule_test
