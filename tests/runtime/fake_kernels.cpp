#include "fake_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#define halide_do_par_for attune_halide_do_par_for
#define halide_error attune_halide_error
#define halide_free attune_halide_free
#define halide_malloc attune_halide_malloc
#include <HalideRuntime.h>

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

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/** Reads the arguments of one call in order. */
struct Arguments {
    explicit Arguments(void **arguments) : next(arguments) {}
    halide_buffer_t *buffer() { return static_cast<halide_buffer_t *>(*next++); }
    template <typename T> T number() { return *static_cast<T *>(*next++); }
    void **next;
};

template <typename T> T &at(const halide_buffer_t *buffer, std::initializer_list<int64_t> index) {
    int64_t offset = 0;
    int axis = 0;
    for (int64_t i : index)
        offset += i * buffer->dim[axis++].stride;
    return reinterpret_cast<T *>(buffer->host)[offset];
}

std::vector<int32_t> values_of(const halide_buffer_t *buffer) {
    std::vector<int32_t> values;
    for (int64_t i = 0; i < buffer->dim[0].extent; ++i)
        values.push_back(at<int32_t>(buffer, {i}));
    return values;
}

/** Everything but v and the outputs. */
struct Scores {
    halide_buffer_t *q, *k, *v = nullptr, *intervals, *offsets, *params, *attend, *bias;
    int32_t use_attend, use_bias;
    float scale, softcap, temperature;
    bool window = false; // the mask compiled into causal_window_kernel

    Scores(Arguments &a, bool has_v) : q(a.buffer()), k(a.buffer()) {
        if (has_v) v = a.buffer();
        intervals = a.buffer(), offsets = a.buffer(), params = a.buffer(), attend = a.buffer(), bias = a.buffer();
        use_attend = a.number<int32_t>(), use_bias = a.number<int32_t>();
        scale = a.number<float>(), softcap = a.number<float>(), temperature = a.number<float>();
    }

    void note(const char *name) const {
        seen().kernels.emplace_back(name);
        seen().offsets = values_of(offsets), seen().params = values_of(params);
        seen().intervals = intervals->dim[1].extent;
        seen().scale = scale, seen().softcap = softcap, seen().temperature = temperature;
        seen().use_attend = use_attend, seen().use_bias = use_bias;
    }

    int64_t keys() const { return k->dim[1].extent; }

    bool attends(int64_t j, int64_t i, int64_t h, int64_t b) const {
        const int64_t position = i + at<int32_t>(offsets, {b});
        if (window && (j > position || j < position - at<int32_t>(params, {0}))) return false;
        if (use_attend && !at<uint8_t>(attend, {j, i, h, b})) return false;
        for (int64_t r = 0; r < intervals->dim[1].extent; ++r)
            if (j >= at<int32_t>(intervals, {0, r, i, b}) && j < at<int32_t>(intervals, {1, r, i, b})) return true;
        return false;
    }

    /** The score as it enters softmax, -inf where masked. */
    double score(int64_t j, int64_t i, int64_t h, int64_t b) const {
        if (!attends(j, i, h, b)) return minus_infinity;
        const int64_t kv = h / (q->dim[2].extent / k->dim[2].extent);
        double sum = 0;
        for (int64_t d = 0; d < q->dim[0].extent; ++d)
            sum += static_cast<double>(at<float>(q, {d, i, h, b})) * static_cast<double>(at<float>(k, {d, j, kv, b}));
        sum *= static_cast<double>(scale);
        if (softcap > 0) sum = static_cast<double>(softcap) * std::tanh(sum / static_cast<double>(softcap));
        if (use_bias) sum += static_cast<double>(at<float>(bias, {j, i, h, b}));
        return sum / static_cast<double>(temperature);
    }
};

struct AttentionLoop {
    const Scores &scores;
    halide_buffer_t *out, *lse;
};

void attend_row(const AttentionLoop &loop, const double *score, int64_t i, int64_t h, int64_t b) {
    const Scores &s = loop.scores;
    const int64_t kv = h / (s.q->dim[2].extent / s.k->dim[2].extent);
    const double largest = *std::max_element(score, score + s.keys());
    double sum = 0;
    for (int64_t j = 0; j < s.keys(); ++j)
        if (score[j] > minus_infinity) sum += std::exp(score[j] - largest);
    at<float>(loop.lse, {i, h, b}) = static_cast<float>(sum > 0 ? largest + std::log(sum) : minus_infinity);
    for (int64_t d = 0; d < loop.out->dim[0].extent; ++d) {
        double value = 0;
        for (int64_t j = 0; j < s.keys(); ++j)
            if (score[j] > minus_infinity) value += std::exp(score[j] - largest) / sum * static_cast<double>(at<float>(s.v, {d, j, kv, b}));
        at<float>(loop.out, {d, i, h, b}) = static_cast<float>(value);
    }
}

/** One head of one batch item: scratch and loop go through Halide's runtime, as a generated kernel's do. */
int attention_task(void *user_context, int index, uint8_t *closure) {
    const auto &loop = *reinterpret_cast<const AttentionLoop *>(closure);
    const Scores &s = loop.scores;
    const int64_t h = index % s.q->dim[2].extent, b = index / s.q->dim[2].extent;
    auto *score = static_cast<double *>(halide_malloc(user_context, static_cast<size_t>(s.keys()) * sizeof(double)));
    if (!score) return halide_error_code_out_of_memory;
    for (int64_t i = 0; i < s.q->dim[1].extent; ++i) {
        for (int64_t j = 0; j < s.keys(); ++j)
            score[j] = s.score(j, i, h, b);
        attend_row(loop, score, i, h, b);
    }
    halide_free(user_context, score);
    return 0;
}

int run_attention(const char *name, bool window, void **arguments) {
    Arguments a(arguments);
    void *user_context = a.number<void *>();
    Scores scores(a, true);
    scores.window = window;
    scores.note(name);
    if (fail_next_kernel()) {
        halide_error(user_context, "the fake kernel was told to fail");
        return -7;
    }
    halide_buffer_t *out = a.buffer(), *lse = a.buffer();
    AttentionLoop loop = {scores, out, lse};
    return halide_do_par_for(user_context, attention_task, 0, scores.q->dim[2].extent * scores.q->dim[3].extent,
                             reinterpret_cast<uint8_t *>(&loop));
}

int run_weights(const char *name, void **arguments) {
    Arguments a(arguments + 1);
    Scores s(a, false);
    s.note(name);
    halide_buffer_t *lse = a.buffer(), *weights = a.buffer();
    for (int64_t b = 0; b < s.q->dim[3].extent; ++b)
        for (int64_t h = 0; h < s.q->dim[2].extent; ++h)
            for (int64_t i = 0; i < s.q->dim[1].extent; ++i)
                for (int64_t j = 0; j < s.keys(); ++j) {
                    const double score = s.score(j, i, h, b);
                    const double row = static_cast<double>(at<float>(lse, {i, h, b}));
                    at<float>(weights, {j, i, h, b}) = static_cast<float>(score > minus_infinity ? std::exp(score - row) : 0);
                }
    return 0;
}

int run_softmax(const char *name, bool log, void **arguments) {
    Arguments a(arguments + 1);
    halide_buffer_t *x = a.buffer();
    const auto temperature = static_cast<double>(a.number<float>());
    halide_buffer_t *y = a.buffer();
    seen().kernels.emplace_back(name);
    for (int64_t row = 0; row < x->dim[1].extent; ++row) {
        double largest = minus_infinity, sum = 0;
        for (int64_t i = 0; i < x->dim[0].extent; ++i)
            largest = std::max(largest, static_cast<double>(at<float>(x, {i, row})) / temperature);
        for (int64_t i = 0; i < x->dim[0].extent; ++i)
            sum += std::exp(static_cast<double>(at<float>(x, {i, row})) / temperature - largest);
        for (int64_t i = 0; i < x->dim[0].extent; ++i) {
            const double value = static_cast<double>(at<float>(x, {i, row})) / temperature - largest - std::log(sum);
            at<float>(y, {i, row}) = static_cast<float>(log ? value : std::exp(value));
        }
    }
    return 0;
}

/** Adds rotary_dim * 1e6 + offset + base, which tells that each argument is in its place. */
int run_rotary(const char *name, void **arguments) {
    Arguments a(arguments + 1);
    halide_buffer_t *x = a.buffer();
    const double base = a.number<double>();
    const double added = base + a.number<int32_t>() * 1e6;
    const double offset = a.number<int32_t>();
    halide_buffer_t *y = a.buffer();
    seen().kernels.emplace_back(name);
    for (int64_t b = 0; b < x->dim[3].extent; ++b)
        for (int64_t h = 0; h < x->dim[2].extent; ++h)
            for (int64_t n = 0; n < x->dim[1].extent; ++n)
                for (int64_t d = 0; d < x->dim[0].extent; ++d)
                    at<float>(y, {d, n, h, b}) = at<float>(x, {d, n, h, b}) + static_cast<float>(added + offset);
    return 0;
}

/** Writes base + offset + 100 n + d. */
int run_sinusoidal(const char *name, void **arguments) {
    Arguments a(arguments + 1);
    const double base = a.number<double>();
    a.number<int32_t>(); // the width, as y has it
    const double offset = a.number<int32_t>();
    halide_buffer_t *y = a.buffer();
    seen().kernels.emplace_back(name);
    for (int64_t n = 0; n < y->dim[1].extent; ++n)
        for (int64_t d = 0; d < y->dim[0].extent; ++d)
            at<float>(y, {d, n}) = static_cast<float>(base + offset + 100.0 * static_cast<double>(n) + static_cast<double>(d));
    return 0;
}

constexpr const char *all_targets = "x86-64-linux-sse41-avx-f16c-fma-avx2,x86-64-linux";
const char *const window_params[] = {"reach"};

attune_kernel kernel(const char *name, const char *operation, const char *schedule, int32_t dim, int (*call)(void **)) {
    return {sizeof(attune_kernel), name, operation, schedule, all_targets, ATTUNE_F32, dim, dim, "", 0, nullptr, call};
}

const attune_kernel kernels[] = {
    kernel("attention_flash", "attention", "flash", 0, [](void **a) { return run_attention("attention_flash", false, a); }),
    kernel("attention_flash_d4", "attention", "flash", 4, [](void **a) { return run_attention("attention_flash_d4", false, a); }),
    kernel("attention_reference", "attention", "reference", 0, [](void **a) { return run_attention("attention_reference", false, a); }),
    kernel("attention_only_d4", "attention", "only_d4", 4, [](void **a) { return run_attention("attention_only_d4", false, a); }),
    kernel("weights_vectorized", "attention_weights", "vectorized", 0, [](void **a) { return run_weights("weights_vectorized", a); }),
    kernel("weights_reference", "attention_weights", "reference", 0, [](void **a) { return run_weights("weights_reference", a); }),
    kernel("softmax_vectorized", "softmax", "vectorized", 0, [](void **a) { return run_softmax("softmax_vectorized", false, a); }),
    kernel("softmax_reference", "softmax", "reference", 0, [](void **a) { return run_softmax("softmax_reference", false, a); }),
    kernel("log_softmax_vectorized", "log_softmax", "vectorized", 0,
           [](void **a) { return run_softmax("log_softmax_vectorized", true, a); }),
    kernel("rotary_half_vectorized", "rotary_half", "vectorized", 0, [](void **a) { return run_rotary("rotary_half_vectorized", a); }),
    kernel("rotary_interleaved_vectorized", "rotary_interleaved", "vectorized", 0,
           [](void **a) { return run_rotary("rotary_interleaved_vectorized", a); }),
    kernel("sinusoidal_vectorized", "sinusoidal", "vectorized", 0, [](void **a) { return run_sinusoidal("sinusoidal_vectorized", a); }),
};

int run_causal_window(void **a) { return run_attention("causal_window", true, a); }
int run_opaque(void **a) { return run_attention("opaque", false, a); }

} // namespace

const attune_kernel causal_window_kernel = {
    sizeof(attune_kernel), "causal_window",  "attention", "flash", all_targets, ATTUNE_F32, 4, 0, "causal & window(reach, 0)", 1,
    window_params,         run_causal_window};
const attune_kernel opaque_kernel = {
    sizeof(attune_kernel), "opaque", "attention", "flash", all_targets, ATTUNE_F32, 0, 0, "", 0, nullptr, run_opaque};
const attune_kernel foreign_kernel = {
    sizeof(attune_kernel), "foreign", "attention", "flash", "x86-64-linux-avx512-avx512_knl", ATTUNE_F32, 0, 0, "", 0, nullptr, run_opaque};

} // namespace attune::runtime

#define ATTUNE_FAKE(i) &attune::runtime::kernels[i]
extern "C" {
extern const attune_kernel *const attune_prebuilt_kernels[];
extern const int32_t attune_prebuilt_kernel_count;
const attune_kernel *const attune_prebuilt_kernels[] = {ATTUNE_FAKE(0), ATTUNE_FAKE(1), ATTUNE_FAKE(2),  ATTUNE_FAKE(3),
                                                        ATTUNE_FAKE(4), ATTUNE_FAKE(5), ATTUNE_FAKE(6),  ATTUNE_FAKE(7),
                                                        ATTUNE_FAKE(8), ATTUNE_FAKE(9), ATTUNE_FAKE(10), ATTUNE_FAKE(11)};
const int32_t attune_prebuilt_kernel_count = 12;
}
