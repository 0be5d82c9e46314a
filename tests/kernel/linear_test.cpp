// The linear layer: every kernel, against float64.
#include <algorithm>
#include <cmath>

#include "attune/attune.hpp"
#include "compare.h"
#include "fenced.h"
#include "half.h"
#include "kernels.h"
#include "linear_oracle.h"
#include "random.h"
#include "typed_tensor.h"

namespace attune::test {
namespace {

std::vector<const attune_kernel *> linear_kernels() {
    std::vector<const attune_kernel *> kernels;
    for (int32_t index = 0; index < attune_kernel_count(); index++) {
        const attune_kernel *kernel = attune_kernel_at(index);
        if (kernel->device == ATTUNE_CPU && std::string_view(kernel->operation) == "linear") kernels.push_back(kernel);
    }
    return kernels;
}

/** A layer's tensors, of a type, with the numbers that they hold. */
struct LinearCase {
    TypedTensor x, weight, y;
    std::optional<TypedTensor> bias, gate, residual;
    attune_activation activation = ATTUNE_ACTIVATION_NONE;
};

class LinearKernels : public SeededTestWithParam<const attune_kernel *> {
protected:
    attune_type type() const { return GetParam()->dtype; }

    TypedTensor normal(attune_type of, const Extents &extents, double deviation = 1, const std::vector<int> &order = {}) {
        TypedTensor tensor(of, extents, order);
        for_each_index(extents, [&](const Extents &index) { tensor.set(index, random.normal(deviation)); });
        return tensor;
    }
    LinearCase plain(Extents rows, int64_t in, int64_t out) {
        Extents x = rows, y = rows;
        x.push_back(in), y.push_back(out);
        return {normal(type(), x), normal(type(), {out, in}, 1 / std::sqrt(double(in))), TypedTensor(type(), y), {}, {}, {}};
    }
    void add_everything(LinearCase &c) {
        const int64_t out = c.weight.extents()[0], in = c.weight.extents()[1];
        c.bias = normal(ATTUNE_F32, {out}), c.gate = normal(type(), {out, in}, 1 / std::sqrt(double(in)));
        c.residual = normal(type(), c.y.extents()), c.activation = ATTUNE_SILU;
    }
    Result<Linear> layer(const LinearCase &c, const std::string &schedule = "") const {
        LinearDesc desc;
        const TensorView bias = c.bias ? c.bias->view() : attune_tensor{}, gate = c.gate ? c.gate->view() : attune_tensor{};
        desc.dtype = type(), desc.weight = c.weight.view(), desc.activation = c.activation,
        desc.schedule = schedule.empty() ? GetParam()->schedule : schedule;
        desc.bias = c.bias ? &bias : nullptr, desc.gate = c.gate ? &gate : nullptr;
        return Linear::create(desc);
    }
    Status run(const LinearCase &c, const TypedTensor &y, attune_call *call = nullptr, const std::string &schedule = "") const {
        const TensorView residual = c.residual ? c.residual->view() : attune_tensor{};
        const Result<Linear> linear = layer(c, schedule);
        return linear.ok() ? linear->run(c.x.view(), y.view(), c.residual ? &residual : nullptr, call) : linear.status();
    }
    LinearProblem problem(const LinearCase &c) const {
        LinearProblem p;
        p.out = c.weight.extents()[0], p.in = c.weight.extents()[1], p.x = c.x.values(), p.weight = c.weight.values();
        p.rows = static_cast<int64_t>(p.x.size()) / p.in, p.activation = c.activation;
        if (c.bias) p.bias = c.bias->values();
        if (c.gate) p.gate = c.gate->values();
        if (c.residual) p.residual = c.residual->values();
        return p;
    }
    void expect_right(const LinearCase &c) const {
        const Status status = run(c, c.y);
        ASSERT_TRUE(status.ok()) << status.message;
        const std::vector<double> exact = linear_in_double(problem(c)), rounded = linear_in_float(problem(c));
        Tolerance tolerance = twice_rounded(exact, rounded, largest_magnitude(exact));
        // The textbook form may be right by chance where there are few values: what a sum in f32 strays by in the mean is allowed, too.
        const double terms = static_cast<double>(c.weight.extents()[1]);
        tolerance.absolute += 6e-8 * std::sqrt(terms) * std::max(1.0, largest_magnitude(exact));
        if (type() == ATTUNE_BF16) tolerance.absolute += half_ulp(type(), largest_magnitude(exact));
        EXPECT_TRUE(agrees(c.y.values(), exact, tolerance));
    }
    std::vector<uint8_t> bytes_with(const LinearCase &c, int32_t threads) const {
        Call call(threads);
        const TypedTensor y(type(), c.y.extents());
        EXPECT_TRUE(run(c, y, &call).ok());
        return y.bytes();
    }
};

TEST(LinearKernel, IsChosenByTheRows) {
    const Tensor<float> weight({32, 8});
    weight.fill(1);
    LinearDesc desc;
    desc.weight = weight.view();
    const Result<Linear> linear = Linear::create(desc);
    ASSERT_TRUE(linear.ok()) << linear.status().message;
    for (const auto &[rows, schedule] : std::vector<std::pair<int64_t, std::string>>{
             {0, "row"}, {1, "row"}, {2, "rows"}, {4, "rows"}, {5, "eight_rows"}, {8, "eight_rows"}, {9, "tiles"}, {4096, "tiles"}})
        EXPECT_EQ(linear->kernel_for(rows)->schedule, schedule) << rows << " rows";
}

// Around the sizes that kernels count in: tiles of 4 and 12 rows, panels of 32 columns, pairs and blocks of 1024 terms.
TEST_P(LinearKernels, AnyShape) {
    const bool slow = is_reference(*GetParam());
    for (int64_t rows : {1, 2, 5, 8, 9, 12, 13, 40})
        for (int64_t in : slow ? Extents{1, 7, 1025} : Extents{1, 2, 7, 64, 513, 1023, 1024, 1025, 2051})
            for (int64_t out : slow ? Extents{1, 33} : Extents{1, 8, 31, 32, 33, 100}) {
                SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(in) + " to " + std::to_string(out));
                expect_right(plain({rows}, in, out));
            }
}

TEST_P(LinearKernels, SeveralTasks) {
    if (is_reference(*GetParam())) GTEST_SKIP() << "its loops are those of the smaller sizes";
    expect_right(plain({401}, 70, 600));
    LinearCase c = plain({3, 70}, 300, 290);
    add_everything(c);
    expect_right(c);
}

TEST_P(LinearKernels, EveryActivationBiasGateAndResidual) {
    for (int activation = ATTUNE_ACTIVATION_NONE; activation <= ATTUNE_SILU; activation++)
        for (bool bias : {false, true})
            for (bool gate : {false, true})
                for (bool residual : {false, true}) {
                    LinearCase c = plain({13}, 40, 45);
                    add_everything(c);
                    c.activation = static_cast<attune_activation>(activation);
                    if (!bias) c.bias.reset();
                    if (!gate) c.gate.reset();
                    if (!residual) c.residual.reset();
                    SCOPED_TRACE(std::to_string(activation) + (bias ? " bias" : "") + (gate ? " gate" : "") +
                                 (residual ? " residual" : ""));
                    expect_right(c);
                }
}

TEST_P(LinearKernels, ActivationsOfLargeNumbers) {
    for (attune_activation activation : {ATTUNE_GELU, ATTUNE_GELU_TANH, ATTUNE_SILU}) {
        LinearCase c = plain({7}, 1, 40);
        c.activation = activation;
        double each = -1e3;
        for_each_index(c.weight.extents(), [&](const Extents &index) { c.weight.set(index, each += 50); });
        expect_right(c);
    }
}

TEST_P(LinearKernels, LayoutsOfTheirOwn) {
    LinearCase c = plain({2, 3, 5}, 21, 37);
    add_everything(c);
    c.x = normal(type(), {2, 3, 5, 21}, 1, {0, 2, 1, 3}), c.y = TypedTensor(type(), {2, 3, 5, 37}, {2, 1, 0, 3});
    c.residual = normal(type(), {2, 3, 5, 37}, 1, {1, 0, 2, 3}), c.weight = normal(type(), {37, 21}, 0.2, {1, 0});
    c.gate = normal(type() == ATTUNE_F32 ? ATTUNE_BF16 : ATTUNE_F32, {37, 21}, 0.2); // kept in the layer's type
    if (type() == ATTUNE_BF16)
        for_each_index(c.gate->extents(), [&](const Extents &index) { c.gate->set(index, round_to(type(), c.gate->get(index))); });
    c.bias = normal(ATTUNE_BF16, {37});
    expect_right(c);
    LinearCase one = plain({}, 21, 37);
    expect_right(one);
}

TEST_P(LinearKernels, InThePlaceOfTheResidual) {
    LinearCase c = plain({3, 11}, 50, 70);
    add_everything(c);
    const std::vector<uint8_t> apart = bytes_with(c, 1);
    ASSERT_TRUE(run(c, *c.residual).ok());
    EXPECT_EQ(c.residual->bytes(), apart);
}

// Terms are taken by blocks of 1024, the last of which may go past the last term: not so what is read.
TEST_P(LinearKernels, XEndsWithItsMemory) {
    for (const int64_t rows : {1, 5, 13})
        for (const int64_t in : {7, 1025, 1600, 2051}) {
            const LinearCase c = plain({rows}, in, 40);
            const std::vector<uint8_t> expected = bytes_with(c, 1);
            const int64_t bytes = rows * in * static_cast<int64_t>(attune_type_size(type()));
            const Walled memory(bytes, true);
            std::copy_n(static_cast<const uint8_t *>(c.x.view().data), bytes, static_cast<uint8_t *>(memory.data()));
            ASSERT_TRUE(layer(c)->run(TensorView(memory.data(), type(), {rows, in}), c.y.view()).ok());
            EXPECT_EQ(c.y.bytes(), expected) << rows << " rows of " << in;
        }
}

TEST_P(LinearKernels, NothingToDo) {
    for (const Extents &rows : {Extents{0}, {2, 0}, {0, 3}}) {
        const LinearCase c = plain(rows, 4, 5);
        EXPECT_TRUE(run(c, c.y).ok());
    }
}

TEST_P(LinearKernels, NaNStaysInItsRow) {
    LinearCase c = plain({30}, 40, 45);
    const std::vector<double> clean = (expect_right(c), c.y.values());
    c.x.set({7, 39}, NAN), c.x.set({12, 3}, INFINITY);
    ASSERT_TRUE(run(c, c.y).ok());
    for_each_index(c.y.extents(), [&](const Extents &index) {
        const double got = c.y.get(index);
        if (index[0] == 7)
            EXPECT_TRUE(std::isnan(got));
        else if (index[0] == 12)
            EXPECT_FALSE(std::isfinite(got));
        else
            EXPECT_EQ(got, clean[index[0] * 45 + index[1]]);
    });
}

TEST_P(LinearKernels, GivesTheSameBitsForAnyNumberOfThreads) {
    LinearCase c = plain({50}, 600, 333);
    add_everything(c);
    const std::vector<uint8_t> one = bytes_with(c, 1);
    for (int32_t threads : {2, 3, 7})
        EXPECT_EQ(bytes_with(c, threads), one) << threads << " threads";
}

// A prompt's rows computed together, then one by one as they're decoded: the same numbers.
TEST_P(LinearKernels, ARowDoesNotDependOnTheOthers) {
    LinearCase all = plain({29}, 1100, 75);
    add_everything(all);
    ASSERT_TRUE(run(all, all.y).ok());
    // The reference is for plain x86-64 alone, where a sum of products is rounded differently.
    std::vector<std::string> schedules;
    for (const attune_kernel *kernel : linear_kernels())
        if (kernel->dtype == type() && is_reference(*kernel) == is_reference(*GetParam())) schedules.emplace_back(kernel->schedule);
    EXPECT_GE(schedules.size(), is_reference(*GetParam()) ? 1u : 3u);
    for (int64_t row : {0, 13, 28}) {
        LinearCase one = all;
        one.x = TypedTensor(type(), {1, 1100}), one.y = TypedTensor(type(), {1, 75}), one.residual = TypedTensor(type(), {1, 75});
        for_each_index({1, 1100}, [&](const Extents &index) { one.x.set(index, all.x.get({row, index[1]})); });
        for_each_index({1, 75}, [&](const Extents &index) { one.residual->set(index, all.residual->get({row, index[1]})); });
        for (const std::string &schedule : schedules) {
            ASSERT_TRUE(run(one, one.y, nullptr, schedule).ok());
            for_each_index({1, 75}, [&](const Extents &index) { EXPECT_EQ(one.y.get(index), all.y.get({row, index[1]})); });
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Prebuilt, LinearKernels, ::testing::ValuesIn(linear_kernels()), kernel_name);

} // namespace
} // namespace attune::test
