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
    Halide::Runtime::Buffer<int32_t, 4> intervals(all_keys, Axes{{0, 2, 1}, {0, 1, 2}, {0, tokens, 0}, {0, 1, 0}});
    int32_t offset = 0, no_param = 0; // query 0 stands at key 0
    Halide::Runtime::Buffer<int32_t, 1> offsets(&offset, 1), params(&no_param, 1);

    // No boolean mask and no bias: buffers of one element, seen through strides of 0, that aren't read.
    uint8_t unread = 0;
    float unread_bias = 0;
    const Axes scores = {{0, tokens, 0}, {0, tokens, 0}, {0, heads, 0}, {0, 1, 0}};
    Halide::Runtime::Buffer<uint8_t, 4> attend(&unread, scores);
    Halide::Runtime::Buffer<float, 4> bias(&unread_bias, scores);
    const int32_t use_attend = 0, use_bias = 0;
    const float scale = 1 / std::sqrt(float(dim)), softcap = 0, temperature = 1;

    const int code = direct_attention(nullptr, q, k, v, intervals, offsets, params, attend, bias, use_attend, use_bias, scale, softcap,
                                      temperature, out, lse);
    const double error = example::largest_error(p, [](int64_t i, int64_t j) { return j <= i; });
    std::printf("direct_attention returned %d; the largest error against float64 is %.2g of max |v|\n", code, error);
    return code == 0 && error < 4e-6 ? 0 : 1;
}
