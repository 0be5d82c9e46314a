// A generated kernel called directly, in Halide's calling convention: no plan, no checks, no Attune runtime; linked are the kernel
// and Halide's runtime. CMakeLists.txt generates it: attune_add_kernel(direct_attention ...). docs/design.md lists the arguments.
//
// What the runtime does otherwise is the caller's here: a buffer that doesn't fit prints a message and aborts, a null host pointer
// is taken as a query of bounds, and parallel loops run on Halide's own thread pool (HL_NUM_THREADS threads).
#include <HalideBuffer.h>

#include <cstdio>

#include "direct_attention.h"
#include "plain_attention.h"

namespace {

constexpr int heads = 2, tokens = 100, dim = 64;
using Axes = std::vector<halide_dimension_t>; // {min, extent, stride} of each, innermost first: the reverse of TensorView

Halide::Runtime::Buffer<float, 4> tensor(std::vector<float> &data) {
    return Halide::Runtime::Buffer<float, 4>(data.data(), dim, tokens, heads, 1);
}

} // namespace

int main() {
    example::Problem p(heads, tokens, dim);
    std::vector<float> log_sum_exp(heads * tokens);
    auto q = tensor(p.q), k = tensor(p.k), v = tensor(p.v), out = tensor(p.out);
    Halide::Runtime::Buffer<float, 3> lse(log_sum_exp.data(), tokens, heads, 1);

    // Each query's keys: one interval, [0, tokens), for all of them. The causal mask is compiled in, and cuts it down.
    int32_t all_keys[] = {0, tokens};
    Halide::Runtime::Buffer<int32_t, 5> intervals(all_keys, Axes{{0, 2, 1}, {0, 1, 2}, {0, tokens, 0}, {0, heads, 0}, {0, 1, 0}});
    int32_t offset = 0; // query 0 stands at key 0
    Halide::Runtime::Buffer<int32_t, 1> offsets(&offset, 1);

    // What isn't used, or not compiled in: buffers of one element, seen through strides of 0, that aren't read.
    int32_t number = 0;
    uint8_t byte = 0;
    float real = 0;
    const Axes one = {{0, 1, 0}}, per_token = {{0, tokens, 0}, {0, 1, 0}}, per_head = {{0, heads, 0}};
    const Axes cells = {{0, tokens, 0}, {0, tokens, 0}, {0, heads, 0}, {0, 1, 0}};
    const Axes distances = {{0, 2 * tokens - 1, 0}, {0, heads, 0}, {0, 1, 0}}, tables = {{0, dim, 0}, {0, 2, 0}, {0, tokens, 0}, {0, 1, 0}};
    Halide::Runtime::Buffer<int32_t, 1> params(&number, 1), lengths(&number, one);
    Halide::Runtime::Buffer<int32_t, 2> documents(&number, per_token);
    Halide::Runtime::Buffer<uint8_t, 4> block_map(&byte, cells), attend(&byte, cells);
    Halide::Runtime::Buffer<float, 4> bias(&real, cells), positions(&real, tables);
    Halide::Runtime::Buffer<float, 3> relative(&real, distances);
    Halide::Runtime::Buffer<float, 1> sinks(&real, per_head);

    // Keys and values lie in pages; those of an ordinary tensor in one page an item, here page 0. f32 has no scales.
    int32_t page = 0;
    Halide::Runtime::Buffer<int32_t, 2> pages(&page, 1, 1);
    Halide::Runtime::Buffer<float, 3> scales(&real, Axes{{0, tokens, 0}, {0, heads, 0}, {0, 1, 0}});

    constexpr int32_t unused = 0;      // of attend, bias, relative, sinks
    constexpr uint32_t no_dropout = 0; // the threshold; then the seed's two halves
    constexpr int32_t rows_per_task = 1024;
    const float scale = 1 / std::sqrt(float(dim)), softcap = 0, temperature = 1;
    const int code = direct_attention(nullptr, q, k, intervals, offsets, params, lengths, documents, documents, block_map, attend, bias,
                                      relative, sinks, positions, positions, unused, unused, unused, unused, scale, softcap, temperature,
                                      no_dropout, 0, 0, tokens, pages, scales, v, scales, rows_per_task, out, lse);
    const double error = example::largest_error(p, [](int64_t i, int64_t j) { return j <= i; });
    std::printf("direct_attention returned %d; the largest error against float64 is %.2g of max |v|\n", code, error);
    return code == 0 && error < 4e-6 ? 0 : 1;
}
