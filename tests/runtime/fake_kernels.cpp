#include "fake_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fake_arguments.h"
#include "fake_cuda.h"
#include "runtime/src/kernel/stream.h"

namespace attune::runtime {

Seen &seen() {
    static Seen instance;
    return instance;
}

bool &fail_next_kernel() {
    static bool fail = false;
    return fail;
}

namespace {

/** Softmax along the middle axis of (column, along, row). */
int run_softmax(const char *name, bool log, void **arguments) {
    Arguments a(arguments + 1);
    halide_buffer_t *x = a.buffer(), *mask = a.buffer();
    const auto use_mask = a.number<int32_t>();
    const auto temperature = static_cast<double>(a.number<float>());
    halide_buffer_t *y = a.buffer();
    seen().kernels.emplace_back(name);
    for (int64_t row = 0; row < x->dim[2].extent; ++row)
        for (int64_t column = 0; column < x->dim[0].extent; ++column) {
            const auto score = [&](int64_t i) {
                const bool counts = !use_mask || at<uint8_t>(mask, {column, i, row});
                return counts ? static_cast<double>(at<float>(x, {column, i, row})) / temperature : minus_infinity;
            };
            double largest = minus_infinity, sum = 0;
            for (int64_t i = 0; i < x->dim[1].extent; ++i)
                largest = std::max(largest, score(i));
            for (int64_t i = 0; i < x->dim[1].extent; ++i)
                sum += std::exp(score(i) - largest);
            for (int64_t i = 0; i < x->dim[1].extent; ++i) {
                const double value = score(i) - largest - std::log(sum);
                at<float>(y, {column, i, row}) = static_cast<float>(log ? value : std::exp(value));
            }
        }
    return 0;
}

/** Turns pair (first(p), second(p)) of channels by the table's cosine and sine. */
template <typename First, typename Second> int run_rotary(const char *name, void **arguments, const First &first, const Second &second) {
    seen().least_streamed.push_back(attune_least_streamed_bytes());
    Arguments a(arguments + 1);
    halide_buffer_t *x = a.buffer(), *table = a.buffer(), *y = a.buffer();
    seen().kernels.emplace_back(name);
    const int64_t pairs = table->dim[0].extent;
    for (int64_t b = 0; b < x->dim[3].extent; ++b)
        for (int64_t h = 0; h < x->dim[2].extent; ++h)
            for (int64_t n = 0; n < x->dim[1].extent; ++n) {
                for (int64_t d = 2 * pairs; d < x->dim[0].extent; ++d)
                    at<float>(y, {d, n, h, b}) = at<float>(x, {d, n, h, b});
                for (int64_t p = 0; p < pairs; ++p) {
                    const float cosine = at<float>(table, {p, 0, n, b}), sine = at<float>(table, {p, 1, n, b});
                    const float u = at<float>(x, {first(p), n, h, b}), v = at<float>(x, {second(p, pairs), n, h, b});
                    at<float>(y, {first(p), n, h, b}) = u * cosine - v * sine;
                    at<float>(y, {second(p, pairs), n, h, b}) = v * cosine + u * sine;
                }
            }
    return 0;
}

int run_rotary_half(const char *name, void **arguments) {
    return run_rotary(
        name, arguments, [](int64_t p) { return p; }, [](int64_t p, int64_t pairs) { return p + pairs; });
}

int run_rotary_interleaved(const char *name, void **arguments) {
    return run_rotary(
        name, arguments, [](int64_t p) { return 2 * p; }, [](int64_t p, int64_t) { return 2 * p + 1; });
}

/** Of one stream of positions, not scaled. */
int run_rotary_table(const char *name, void **arguments) {
    Arguments a(arguments + 1);
    halide_buffer_t *positions = a.buffer();
    a.buffer(); // ends of streams
    const double base = a.number<double>();
    const double width = a.number<int32_t>();
    a.number<int32_t>(); // scaling
    for (int i = 0; i < 4; ++i)
        a.number<double>(); // its numbers
    halide_buffer_t *table = a.buffer();
    seen().kernels.emplace_back(name);
    for (int64_t b = 0; b < table->dim[3].extent; ++b)
        for (int64_t n = 0; n < table->dim[2].extent; ++n)
            for (int64_t p = 0; p < table->dim[0].extent; ++p) {
                const double angle = at<int32_t>(positions, {n, 0, b}) * std::pow(base, -2.0 * static_cast<double>(p) / width);
                at<float>(table, {p, 0, n, b}) = static_cast<float>(std::cos(angle));
                at<float>(table, {p, 1, n, b}) = static_cast<float>(std::sin(angle));
            }
    return 0;
}

/** Writes base + 100 position + channel: it shows which argument went where. */
int run_sinusoidal(const char *name, void **arguments) {
    Arguments a(arguments + 1);
    halide_buffer_t *positions = a.buffer();
    const double base = a.number<double>();
    a.number<int32_t>(); // the width, as the table has it
    halide_buffer_t *table = a.buffer();
    seen().kernels.emplace_back(name);
    for (int64_t n = 0; n < table->dim[2].extent; ++n)
        for (int64_t d = 0; d < table->dim[0].extent; ++d)
            at<float>(table, {d, 0, n, 0}) = static_cast<float>(base + 100.0 * at<int32_t>(positions, {n, 0}) + static_cast<double>(d));
    return 0;
}

/** 4^-(h + 1): ALiBi's slopes of four heads. */
int run_slopes(const char *name, void **arguments) {
    Arguments a(arguments + 1);
    a.number<int32_t>();
    halide_buffer_t *slopes = a.buffer();
    seen().kernels.emplace_back(name);
    for (int64_t h = 0; h < slopes->dim[0].extent; ++h)
        at<float>(slopes, {h}) = static_cast<float>(std::pow(0.25, static_cast<double>(h) + 1));
    return 0;
}

/** ALiBi alone: -slope |distance + offset|. */
int run_relative_bias(const char *name, void **arguments) {
    Arguments a(arguments + 1);
    halide_buffer_t *slopes = a.buffer();
    a.buffer(); // T5's table
    halide_buffer_t *offsets = a.buffer();
    a.buffer(); // T5's offsets
    for (int i = 0; i < 6; ++i)
        a.number<int32_t>(); // which terms, T5's numbers, N
    const int64_t keys = a.number<int32_t>();
    halide_buffer_t *relative = a.buffer();
    seen().kernels.emplace_back(name);
    for (int64_t b = 0; b < relative->dim[2].extent; ++b)
        for (int64_t h = 0; h < relative->dim[1].extent; ++h)
            for (int64_t d = 0; d < relative->dim[0].extent; ++d) {
                const int64_t distance = std::abs(d - (keys - 1) + at<int32_t>(offsets, {b}));
                at<float>(relative, {d, h, b}) = -at<float>(slopes, {h}) * static_cast<float>(distance);
            }
    return 0;
}

attune_kernel kernel(const char *name, const char *operation, const char *schedule, int32_t dim, int (*call)(void **)) {
    return {sizeof(attune_kernel),
            name,
            operation,
            schedule,
            fake_targets,
            ATTUNE_F32,
            ATTUNE_F32,
            dim,
            dim,
            "",
            "",
            "",
            0,
            nullptr,
            call,
            ATTUNE_CPU,
            0};
}

attune_kernel of_type(attune_type type, attune_kernel kernel) {
    kernel.dtype = kernel.cache_dtype = type;
    return kernel;
}

const attune_kernel kernels[] = {
    kernel("attention_flash", "attention", "flash", 0, [](void **a) { return run_fake_attention("attention_flash", a); }),
    kernel("attention_flash_d4", "attention", "flash", 4, [](void **a) { return run_fake_attention("attention_flash_d4", a); }),
    kernel("attention_reference", "attention", "reference", 0, [](void **a) { return run_fake_attention("attention_reference", a); }),
    kernel("attention_only_d4", "attention", "only_d4", 4, [](void **a) { return run_fake_attention("attention_only_d4", a); }),
    kernel("weights_vectorized", "attention_weights", "vectorized", 0, [](void **a) { return run_fake_weights("weights_vectorized", a); }),
    kernel("weights_reference", "attention_weights", "reference", 0, [](void **a) { return run_fake_weights("weights_reference", a); }),
    kernel("softmax_vectorized", "softmax", "vectorized", 0, [](void **a) { return run_softmax("softmax_vectorized", false, a); }),
    kernel("softmax_reference", "softmax", "reference", 0, [](void **a) { return run_softmax("softmax_reference", false, a); }),
    kernel("softmax_columns_vectorized", "softmax_columns", "vectorized", 0,
           [](void **a) { return run_softmax("softmax_columns_vectorized", false, a); }),
    kernel("log_softmax_vectorized", "log_softmax", "vectorized", 0,
           [](void **a) { return run_softmax("log_softmax_vectorized", true, a); }),
    kernel("rotary_half_vectorized", "rotary_half", "vectorized", 0, [](void **a) { return run_rotary_half("rotary_half_vectorized", a); }),
    kernel("rotary_interleaved_vectorized", "rotary_interleaved", "vectorized", 0,
           [](void **a) { return run_rotary_interleaved("rotary_interleaved_vectorized", a); }),
    kernel("rotary_table_vectorized", "rotary_table", "vectorized", 0,
           [](void **a) { return run_rotary_table("rotary_table_vectorized", a); }),
    kernel("sinusoidal_vectorized", "sinusoidal", "vectorized", 0, [](void **a) { return run_sinusoidal("sinusoidal_vectorized", a); }),
    kernel("alibi_slopes_vectorized", "alibi_slopes", "vectorized", 0, [](void **a) { return run_slopes("alibi_slopes_vectorized", a); }),
    kernel("relative_bias_vectorized", "relative_bias", "vectorized", 0,
           [](void **a) { return run_relative_bias("relative_bias_vectorized", a); }),
    of_type(ATTUNE_F16, kernel("attention_f16", "attention", "flash", 0, [](void **a) { return note_fake_attention("attention_f16", a); })),
    of_type(ATTUNE_F16,
            kernel("weights_f16", "attention_weights", "vectorized", 0, [](void **a) { return note_fake_weights("weights_f16", a); })),
};

} // namespace

} // namespace attune::runtime

#define ATTUNE_FAKE(i) &attune::runtime::kernels[i]
#define ATTUNE_FAKE_CUDA(i) &attune::runtime::fake_cuda_kernels[i]
extern "C" {
extern const attune_kernel *const attune_prebuilt_kernels[];
extern const int32_t attune_prebuilt_kernel_count;
const attune_kernel *const attune_prebuilt_kernels[] = {
    ATTUNE_FAKE(0),       ATTUNE_FAKE(1),      ATTUNE_FAKE(2),      ATTUNE_FAKE(3),      ATTUNE_FAKE(4),       ATTUNE_FAKE(5),
    ATTUNE_FAKE(6),       ATTUNE_FAKE(7),      ATTUNE_FAKE(8),      ATTUNE_FAKE(9),      ATTUNE_FAKE(10),      ATTUNE_FAKE(11),
    ATTUNE_FAKE(12),      ATTUNE_FAKE(13),     ATTUNE_FAKE(14),     ATTUNE_FAKE(15),     ATTUNE_FAKE(16),      ATTUNE_FAKE(17),
    ATTUNE_FAKE_CUDA(0),  ATTUNE_FAKE_CUDA(1), ATTUNE_FAKE_CUDA(2), ATTUNE_FAKE_CUDA(3), ATTUNE_FAKE_CUDA(4),  ATTUNE_FAKE_CUDA(5),
    ATTUNE_FAKE_CUDA(6),  ATTUNE_FAKE_CUDA(7), ATTUNE_FAKE_CUDA(8), ATTUNE_FAKE_CUDA(9), ATTUNE_FAKE_CUDA(10), ATTUNE_FAKE_CUDA(11),
    ATTUNE_FAKE_CUDA(12), ATTUNE_FAKE_CUDA(13)};
const int32_t attune_prebuilt_kernel_count = 18 + attune::runtime::fake_cuda_kernel_count;
}
