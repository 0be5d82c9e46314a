// Attention for CUDA without tensor cores: the generated kernel, compiled in this process, on every device that can be tried here, and its
// declaration on the CPU.
#include <limits>
#include <numeric>
#include <utility>

#include "compare.h"
#include "jit_attention.h"
#include "targets.h"
#include "typed_tensor.h"

namespace attune::test::attention_simt_test {
namespace {

struct Kernel {
    Halide::Target target;
    int head_dim; // compiled in, or 0
};

constexpr int far = 1 << 30;

/** What the mask's text says, in the kernel's words. */
struct Window {
    int left = far, right = far;
};

class AttentionSimt : public SeededTestWithParam<Kernel> {
protected:
    void SetUp() override {
        if (const std::string why = why_not_here(GetParam().target); !why.empty()) GTEST_SKIP() << why;
    }

    /** Runs the kernel; an argument that the problem lacks is a buffer of one element. With a page size keys and values lie in pages. */
    JitResult run(const AttentionProblem &p, const Window &window = {}, int64_t page_size = 0) {
        const Halide::Callable kernel = compiled("float32");
        const Extents rows{p.batch(), p.query_heads(), p.queries()};
        JitResult result{Tensor<float>({rows[0], rows[1], rows[2], p.value_dim()}), Tensor<float>(rows), {}};
        Halide::Buffer<float> out = buffer_of(result.out), lse = buffer_of(result.lse);
        const Halide::Buffer<float> bias = p.bias ? buffer_of(p.bias->broadcast({rows[0], rows[1], rows[2], p.keys()})) : unused<float>(4);
        const float scale = p.scale.value_or(1 / std::sqrt(static_cast<float>(p.dim())));
        const Tensor<int32_t> table = shuffled_pages(p.batch(), page_size > 0 ? (p.keys() + page_size - 1) / page_size : 1);
        const Tensor<float> k = page_size > 0 ? in_pages(p.k, page_size, table) : p.k;
        const Tensor<float> v = page_size > 0 ? in_pages(p.v, page_size, table) : p.v;
        const int status =
            kernel(buffer_of(p.q), buffer_of(k), buffer_of(v), items(p.key_lengths), items(p.offsets),
                   p.sinks ? buffer_of(*p.sinks) : unused<float>(1), bias, buffer_of(table), int(!p.key_lengths.empty()),
                   int(!p.offsets.empty()), int(p.sinks.has_value()), int(p.bias.has_value()), int(p.alibi), int(page_size > 0),
                   int(p.offset.value_or(0)), window.left, window.right, scale, p.softcap, p.temperature, int(p.keys()), out, lse);
        EXPECT_EQ(status, 0);
        out.copy_to_host(), lse.copy_to_host();
        return result;
    }

    /** The kernel for elements of that type, compiled once. */
    static Halide::Callable compiled(const std::string &dtype) {
        static std::map<std::string, Halide::Callable> kernels;
        const auto [target, head_dim] = GetParam();
        Halide::Callable &kernel = kernels[target.to_string() + std::to_string(head_dim) + dtype];
        if (!kernel.defined())
            kernel = Halide::create_callable_from_generator(
                Halide::GeneratorContext(target), "attention_simt",
                {{"schedule", target.has_gpu_feature() ? "simt" : "reference"}, {"head_dim", std::to_string(head_dim)}, {"dtype", dtype}});
        return kernel;
    }

    void expect_right(const AttentionProblem &p, const Window &window = {}, int64_t page_size = 0) {
        try {
            expect_exact(run(p, window, page_size), p);
        } catch (const Halide::Error &e) {
            ADD_FAILURE() << e.what();
        }
    }

    /** Two batch items, four heads that share two, sizes that are multiples of nothing. */
    AttentionProblem problem(int64_t queries, int64_t keys) {
        const int64_t dim = GetParam().head_dim != 0 ? GetParam().head_dim : 20, value_dim = GetParam().head_dim != 0 ? dim : 12;
        return normal_problem({2, 4, 2, queries, keys, dim, value_dim}, random);
    }

    // Not without memory: Halide would take the call for a query of bounds.
    template <typename T> static Halide::Buffer<T> unused(int axes) {
        Halide::Buffer<T> buffer(std::vector<int>(axes, 1));
        buffer.fill(std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::max());
        buffer.set_host_dirty();
        return buffer;
    }

private:
    /** A table [batch, columns] of pages in a shuffled order. */
    Tensor<int32_t> shuffled_pages(int64_t batch, int64_t columns) {
        std::vector<int32_t> order(static_cast<size_t>(batch * columns));
        std::iota(order.begin(), order.end(), 0);
        for (size_t i = order.size(); i > 1; i--)
            std::swap(order[i - 1], order[static_cast<size_t>(random.between(0, static_cast<int64_t>(i) - 1))]);
        const Tensor<int32_t> table({batch, columns});
        table.each([next = order.begin()](int32_t &page) mutable { page = *next++; });
        return table;
    }

    /** Keys or values cut into the pages that the table names. What is left of the last ones is NaN. */
    static Tensor<float> in_pages(const Tensor<float> &tensor, int64_t size, const Tensor<int32_t> &table) {
        const Tensor<float> pool({table.extent[0] * table.extent[1], tensor.extent[1], size, tensor.extent[3]});
        pool.fill(std::numeric_limits<float>::quiet_NaN());
        for_each_index(tensor.extent,
                       [&](const Extents &i) { pool(table(i[0], i[2] / size), i[1], i[2] % size, i[3]) = tensor(i[0], i[1], i[2], i[3]); });
        return pool;
    }

    static Halide::Buffer<int32_t> items(const std::vector<int64_t> &values) {
        if (values.empty()) return unused<int32_t>(1);
        Halide::Buffer<int32_t> buffer(int(values.size()));
        for (size_t i = 0; i < values.size(); i++)
            buffer(int(i)) = int32_t(values[i]);
        buffer.set_host_dirty();
        return buffer;
    }
};

std::vector<Kernel> kernels() {
    std::vector<Kernel> all = {{Halide::Target("x86-64-linux"), 0}}; // the declaration itself
    for (const Halide::Target &target : cuda_targets())
        for (int head_dim : {64, 0, 128})
            all.push_back({target, head_dim});
    return all;
}
std::string name(const ::testing::TestParamInfo<Kernel> &info) {
    return name_of_target(info.param.target) + (info.param.head_dim == 0 ? "_any" : "_d" + std::to_string(info.param.head_dim));
}
INSTANTIATE_TEST_SUITE_P(Devices, AttentionSimt, ::testing::ValuesIn(kernels()), name);
// PoCL takes 10 s to compile either, and 40 for the kernel of any width.
INSTANTIATE_TEST_SUITE_P(OpenCL, AttentionSimt, ::testing::Values(Kernel{opencl_target(), 64}, Kernel{opencl_target(), 128}), name);

TEST_P(AttentionSimt, PlainAndCausal) {
    AttentionProblem p = problem(70, 133);
    expect_right(p);
    p.mask = "causal", p.offset = 63;
    expect_right(p, {far, 0});
    p.mask = "window(40, 3)", p.offset = -20; // rows with nothing to attend to
    expect_right(p, {40, 3});
}

TEST_P(AttentionSimt, EveryTermAtOnce) {
    AttentionProblem p = problem(37, 150);
    p.mask = "causal", p.offsets = {116, -3}, p.key_lengths = {140, 20};
    p.bias = Tensor<float>({1, 4, 37, 150});
    random.fill_normal(*p.bias);
    (*p.bias)(0, 1, 2, 5) = -std::numeric_limits<float>::infinity();
    p.sinks = Tensor<float>({4});
    random.fill_normal(*p.sinks);
    p.softcap = 3, p.temperature = 0.7f, p.alibi = true;
    expect_right(p, {far, 0});
}

TEST_P(AttentionSimt, WhatIsMaskedIsNotSeenAndNaNIs) {
    AttentionProblem p = problem(66, 90);
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
    p.mask = "causal", p.offsets = {20, 24}, p.key_lengths = {60, 90};
    p.k(0, 0, 65, 3) = nan, p.v(0, 1, 70, 1) = infinite; // past the end
    p.k(0, 1, 30, 0) = nan;                              // attended by rows from 10 on
    p.v(1, 0, 50, 2) = nan, p.v(1, 1, 40, 0) = infinite, p.k(1, 1, 60, 0) = -infinite;
    p.q(0, 3, 5, 1) = nan;
    expect_right(p, {far, 0});
}

/** The tensor as f16; it is rounded itself too. */
Halide::Buffer<Halide::float16_t> halves(const Tensor<float> &tensor) {
    Halide::Buffer<Halide::float16_t> buffer(int(tensor.extent[3]), int(tensor.extent[2]), int(tensor.extent[1]), int(tensor.extent[0]));
    Halide::float16_t *next = buffer.data();
    tensor.each([&](float &value) { *next = Halide::float16_t(value), value = float(*next++); });
    buffer.set_host_dirty();
    return buffer;
}

TEST_P(AttentionSimt, HalvesAreRoundedOnceAtTheEnd) {
    const auto [target, head_dim] = GetParam();
    if (target.has_feature(Halide::Target::OpenCL)) GTEST_SKIP() << "PoCL has no f16";
    AttentionProblem p = problem(40, 100);
    p.mask = "causal", p.offset = 60;
    const Halide::Buffer<Halide::float16_t> q = halves(p.q), k = halves(p.k), v = halves(p.v);
    const AttentionAnswer exact = attention_in_double(p);
    const Tensor<float> out({2, 4, 40, p.value_dim()});
    Halide::Buffer<Halide::float16_t> got = halves(out);
    const Tensor<float> lse_tensor({2, 4, 40});
    Halide::Buffer<float> lse = buffer_of(lse_tensor);
    const Halide::Callable kernel = compiled("float16");
    EXPECT_EQ(kernel(q, k, v, unused<int32_t>(1), unused<int32_t>(1), unused<float>(1), unused<float>(4), unused<int32_t>(2), 0, 0, 0, 0, 0,
                     0, 60, far, 0, 1 / std::sqrt(float(p.dim())), 0.0f, 1.0f, 100, got, lse),
              0);
    got.copy_to_host(), lse.copy_to_host();
    const Halide::float16_t *next = got.data();
    out.each([&](float &value) { value = float(*next++); });
    EXPECT_TRUE(agrees(to_double(out), exact.out, {5e-4 * largest_magnitude(exact.out), 0, 0}));
    EXPECT_TRUE(agrees(to_double(lse_tensor), exact.lse, {1e-5, 0, 0}));
}

TEST_P(AttentionSimt, KeysInPages) {
    AttentionProblem p = problem(20, 100);
    expect_right(p, {}, 16);
    p.mask = "causal", p.offsets = {80, 30}, p.key_lengths = {90, 50};
    for (int64_t size : {1, 17, 64})
        expect_right(p, {far, 0}, size);
}

TEST_P(AttentionSimt, FewQueriesAndOneKey) {
    expect_right(problem(1, 200));
    expect_right(problem(3, 1));
}

} // namespace
} // namespace attune::test::attention_simt_test
