// Softmax and its kin on a GPU, against float64.
#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "compare.h"
#include "device_functions.h"
#include "random.h"
#include "softmax_oracle.h"
#include "typed_tensor.h"

namespace attune::test {
namespace {

class CudaAxis : public SeededTestWithParam<const char *> {
protected:
    void SetUp() override {
        for (const char *suffix : {"", "_columns"})
            if (!is_linked(std::string(GetParam()) + suffix)) GTEST_SKIP() << "no kernel of " << GetParam() << suffix << " is linked in";
    }
    AxisKind kind() const {
        const std::string name = GetParam();
        return name == "softmax" ? AxisKind::softmax : name == "log_softmax" ? AxisKind::log_softmax : AxisKind::log_sum_exp;
    }
    AxisProblem problem(const Extents &extents, int axis, const Layout &layout = {}) {
        const Tensor<float> x(extents, layout);
        random.fill_normal(x, 2);
        return {kind(), x, axis};
    }
    void expect_right(const AxisProblem &p) const {
        const std::vector<double> exact = along_axis_in_double(p);
        expect_close(p, exact, twice_rounded(exact, along_axis_in_float(p), std::max(1.0, largest_magnitude(exact))), 0.2);
    }
    /** By every schedule, where the axis is contiguous: only then there are several. */
    void expect_close(const AxisProblem &p, const std::vector<double> &exact, const Tolerance &tolerance, double finite_share) const {
        const bool rows = p.axis == static_cast<int>(p.x.extent.size()) - 1;
        for (const std::string &schedule : rows ? linked_schedules(GetParam()) : std::vector<std::string>{""})
            expect_close(p, exact, tolerance, finite_share, schedule);
    }
    void expect_close(const AxisProblem &p, const std::vector<double> &exact, const Tolerance &tolerance, double finite_share,
                      const std::string &schedule) const {
        SCOPED_TRACE(std::to_string(p.x.extent[static_cast<size_t>(p.axis)]) + " along axis " + std::to_string(p.axis) + " " + schedule);
        Extents extents = p.x.extent;
        if (kind() == AxisKind::log_sum_exp) extents[static_cast<size_t>(p.axis)] = 1;
        const Tensor<float> y(extents, {{}, 3});
        DeviceMemory memory;
        const TensorView x(memory.upload(p.x.view()));
        TensorView mask;
        if (p.mask.memory) mask = memory.upload(p.mask.view());
        const TensorView *given = p.mask.memory ? &mask : nullptr;
        run_into(memory, y.view(), [&](const TensorView &there) {
            if (kind() == AxisKind::log_sum_exp) return log_sum_exp(x, there, {p.temperature, p.axis, given, schedule});
            return softmax(x, there, {p.temperature, kind() == AxisKind::log_softmax, p.axis, given, schedule});
        });
        EXPECT_TRUE(agrees(to_double(y), exact, tolerance, finite_share));
        EXPECT_TRUE(y.canaries_intact());
        if (kind() == AxisKind::log_sum_exp) return;
        const Tensor<float> both = p.x.clone();
        run_into(memory, both.view(), [&](const TensorView &there) {
            return softmax(there, there, {p.temperature, kind() == AxisKind::log_softmax, p.axis, given, schedule});
        });
        EXPECT_TRUE(agrees(to_double(both), exact, tolerance, finite_share)) << "in place";
    }
};
INSTANTIATE_TEST_SUITE_P(Prebuilt, CudaAxis, ::testing::Values("softmax", "log_softmax", "log_sum_exp"),
                         [](const auto &info) { return std::string(info.param); });

TEST_P(CudaAxis, RowsAndColumns) {
    for (int64_t length : {1, 31, 33, 128, 1000, 5000})
        expect_right(problem({19, length}, 1)); // more rows than a block has warps, and not twice as many
    for (auto [length, columns] : {std::pair<int64_t, int64_t>{1, 1}, {37, 131}, {300, 5}, {2, 64}})
        expect_right(problem({2, length, columns}, 1));
    expect_right(problem({2, 5, 3, 19}, 0));
    expect_right(problem({2, 3, 4, 33}, 3, Layout::tokens_first(5)));
}

TEST_P(CudaAxis, MasksTemperaturesAndInfinities) {
    for (int axis : {0, 1}) {
        AxisProblem p = problem({20, 45}, axis);
        p.temperature = 0.3f;
        expect_right(p);
        p.x(3, 7) = NAN, p.x(5, 8) = INFINITY;
        for (int64_t i = 0; i < 20; i++)
            for (int64_t j = 0; j < 45; j++)
                if (i == 11 || j == 12 || random.chance(0.2)) p.x(i, j) = -INFINITY;
        expect_right(p);
        p.mask = Tensor<uint8_t>({1, 45}).broadcast({20, 45});
        random.fill_boolean(p.mask, 0.6);
        expect_right(p);
    }
}

TEST_P(CudaAxis, ExtremeTemperatures) {
    for (int axis : {0, 1})
        for (float temperature : extreme_temperatures) {
            AxisProblem p = problem({40, 35}, axis);
            p.temperature = temperature;
            SCOPED_TRACE("temperature " + std::to_string(std::log10(temperature)));
            expect_close(p, along_axis_rounded_once(p), {1e-6, 2, 0}, 0);
        }
}

class CudaSoftmax : public SeededTest {};

TEST_F(CudaSoftmax, OfSixteenBitsIsRoundedOnce) {
    for (const attune_type type : {ATTUNE_F16, ATTUNE_BF16})
        for (const bool log : {false, true})
            for (const int32_t axis : {0, 1}) {
                const auto schedules = linked_schedules(std::string(log ? "log_softmax" : "softmax") + (axis == 0 ? "_columns" : ""), type);
                if (schedules.empty()) GTEST_SKIP() << "a kernel isn't linked in";
                const Tensor<float> drawn({37, 131}), wide(drawn.extent);
                random.fill_normal(drawn, 2);
                const TypedTensor x(type, drawn);
                const std::vector<double> values = x.values();
                std::copy(values.begin(), values.end(), wide.data());
                const std::vector<double> exact = along_axis_in_double({log ? AxisKind::log_softmax : AxisKind::softmax, wide, axis});
                for (const std::string &schedule : schedules) {
                    const TypedTensor y(type, drawn.extent);
                    DeviceMemory memory;
                    const TensorView given(memory.upload(x.view()));
                    run_into(memory, y.view(), [&](const TensorView &there) {
                        return softmax(given, there, {1, log, axis, nullptr, schedule});
                    });
                    EXPECT_TRUE(agrees(y.values(), exact, {1e-6, type == ATTUNE_BF16 ? 0x1p15 : 0x1p12})) << schedule << " " << axis;
                }
            }
}

/** Rows of so many elements, in memory that has so many more between them. */
struct Rows {
    int64_t count, length, gap;
};

class CudaRows : public SeededTestWithParam<std::tuple<bool, attune_type>> {
protected:
    bool log() const { return std::get<0>(GetParam()); }
    attune_type type() const { return std::get<1>(GetParam()); }
    std::vector<std::string> schedules() const { return linked_schedules(log() ? "log_softmax" : "softmax", type()); }

    /** `values` as the type has them, and each of those as f32. */
    TypedTensor stored(const Tensor<float> &values, const Rows &rows) const {
        TypedTensor x(type(), Extents{rows.count, rows.length + rows.gap});
        for (int64_t i = 0; i < rows.count; i++)
            for (int64_t j = 0; j < rows.length; j++) {
                x.set({i, j}, double(values(i, j)));
                values(i, j) = static_cast<float>(x.get({i, j}));
            }
        return x;
    }
    static TensorView view(TensorView all, const Rows &rows) {
        all.extent[1] = rows.length;
        return all;
    }
    std::vector<double> values(const TypedTensor &y, const Rows &rows) const {
        std::vector<double> found;
        for (int64_t i = 0; i < rows.count; i++)
            for (int64_t j = 0; j < rows.length; j++)
                found.push_back(y.get({i, j}));
        return found;
    }
    /** By every schedule, also in place; and nothing beside the rows is written. */
    void expect_right(const Rows &rows, const Tensor<float> &drawn, float temperature, const Tensor<uint8_t> &mask = {}) {
        const TypedTensor x = stored(drawn, rows);
        const AxisProblem problem{log() ? AxisKind::log_softmax : AxisKind::softmax, drawn, 1, mask, temperature};
        const std::vector<double> exact = along_axis_in_double(problem);
        const double ulps = type() == ATTUNE_F32 ? 4 : type() == ATTUNE_BF16 ? 0x1p15 : 0x1p12; // of f32
        DeviceMemory memory;
        TensorView attended;
        if (mask.memory) attended = memory.upload(mask.view());
        for (const std::string &schedule : schedules()) {
            SCOPED_TRACE(schedule + " " + std::to_string(rows.length) + " and " + std::to_string(rows.gap));
            SoftmaxOptions options{temperature, log(), 1, mask.memory ? &attended : nullptr, schedule};
            const TensorView given(memory.upload(x.view()));
            const TypedTensor y(type(), x.extents());
            run_into(memory, y.view(), [&](const TensorView &there) { return softmax(view(given, rows), view(there, rows), options); });
            const TypedTensor both(type(), x.extents());
            memory.download(given, both.view());
            EXPECT_EQ(both.bytes(), x.bytes());
            run_into(memory, both.view(), [&](const TensorView &there) { return softmax(view(there, rows), view(there, rows), options); });
            EXPECT_TRUE(agrees(values(y, rows), exact, {2e-6, ulps}, 0.2));
            EXPECT_TRUE(agrees(values(both, rows), exact, {2e-6, ulps}, 0.2)) << "in place";
            for (int64_t i = 0; i < rows.count; i++)
                for (int64_t j = rows.length; j < rows.length + rows.gap; j++)
                    ASSERT_TRUE(y.untouched({i, j})) << i << " " << j;
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Prebuilt, CudaRows, ::testing::Combine(::testing::Bool(), ::testing::Values(ATTUNE_F32, ATTUNE_F16, ATTUNE_BF16)),
                         [](const auto &info) {
                             const attune_type type = std::get<1>(info.param);
                             return std::string(std::get<0>(info.param) ? "log_softmax_" : "softmax_") + (type == ATTUNE_F32   ? "f32"
                                                                                                          : type == ATTUNE_F16 ? "f16"
                                                                                                                               : "bf16");
                         });

/** Around the lengths at which another code is taken, with rows that begin with whole vectors and rows that don't. */
TEST_P(CudaRows, OfEveryLength) {
    if (schedules().empty()) GTEST_SKIP() << "no kernel is linked in";
    for (const int64_t whole : {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768})
        for (const int64_t length : {whole - 8, whole - 1, whole, whole + 1, whole + 8})
            for (const int64_t gap : {0, 8, 3}) {
                if (whole > 4096 && gap == 3) continue; // as they were without
                const Rows rows{whole <= 256 ? 37 : whole <= 2048 ? 5 : 2, length, gap};
                const Tensor<float> x({rows.count, rows.length});
                random.fill_normal(x, 2);
                expect_right(rows, x, whole == 128 ? 0.3f : 1.0f);
            }
    for (const int64_t length : {1, 2, 4, 7, 8, 16, 1000, 50257}) {
        const Rows rows{3, length, 0};
        const Tensor<float> x({rows.count, rows.length});
        random.fill_normal(x, 2);
        expect_right(rows, x, 1);
    }
}

TEST_P(CudaRows, OfWhatIsNotFinite) {
    if (schedules().empty()) GTEST_SKIP() << "no kernel is linked in";
    for (const int64_t length : {24, 32, 128, 504, 1024, 1032, 4096, 4104, 40000}) {
        const Rows rows{9, length, 8};
        const Tensor<float> x({rows.count, rows.length});
        random.fill_normal(x, 2);
        for (int64_t j = 0; j < length; j++)
            x(2, j) = -INFINITY, x(3, j) = j == length - 3 ? 1.0f : -INFINITY;
        x(4, length / 2) = NAN, x(5, length - 1) = INFINITY, x(6, 1) = -INFINITY, x(7, 0) = 1.5e38f, x(7, 1) = -1.5e38f;
        expect_right(rows, x, 1);
        expect_right(rows, x, 7.5f);
        const Tensor<uint8_t> mask({rows.count, rows.length});
        random.fill_boolean(mask, 0.6);
        expect_right(rows, x, 1, mask);
    }
}

} // namespace
} // namespace attune::test
