// Attention and its weights, in the place of generated kernels: version 3 of their arguments.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "fake_arguments.h"
#include "fake_kernels.h"

namespace attune::runtime {

namespace {

template <typename T> void append_values(const halide_buffer_t *buffer, std::vector<T> &values) {
    const auto extent = [&](int axis) { return axis < buffer->dimensions ? int64_t{buffer->dim[axis].extent} : 1; };
    const auto stride = [&](int axis) { return axis < buffer->dimensions ? int64_t{buffer->dim[axis].stride} : 0; };
    values.clear();
    for (int64_t w = 0; w < extent(3); ++w)
        for (int64_t z = 0; z < extent(2); ++z)
            for (int64_t y = 0; y < extent(1); ++y)
                for (int64_t x = 0; x < extent(0); ++x)
                    values.push_back(reinterpret_cast<T *>(buffer->host)[x * stride(0) + y * stride(1) + z * stride(2) + w * stride(3)]);
}

/** The inputs of both kernels, in their order. */
struct Inputs {
    halide_buffer_t *q, *k, *intervals, *offsets, *params, *lengths, *query_documents, *key_documents, *block_map;
    halide_buffer_t *attend, *bias, *relative, *sinks, *query_position, *key_position, *pages, *key_scale;
    halide_buffer_t *v = nullptr, *value_scale = nullptr;
    int32_t use_attend, use_bias, use_relative, use_sinks;
    float scale, softcap, temperature;
    uint32_t dropout_threshold, seed_low, seed_high;
    int32_t key_count;
    bool window = false; // the mask compiled into causal_window_kernel

    explicit Inputs(Arguments &a) {
        for (halide_buffer_t **buffer : {&q, &k, &intervals, &offsets, &params, &lengths, &query_documents, &key_documents, &block_map,
                                         &attend, &bias, &relative, &sinks, &query_position, &key_position})
            *buffer = a.buffer();
        for (int32_t *flag : {&use_attend, &use_bias, &use_relative, &use_sinks})
            *flag = a.number<int32_t>();
        for (float *number : {&scale, &softcap, &temperature})
            *number = a.number<float>();
        for (uint32_t *number : {&dropout_threshold, &seed_low, &seed_high})
            *number = a.number<uint32_t>();
        key_count = a.number<int32_t>();
        pages = a.buffer(), key_scale = a.buffer();
    }

    void note(const char *name) const {
        Seen &s = seen();
        s.kernels.emplace_back(name);
        append_values(offsets, s.offsets), append_values(lengths, s.lengths), append_values(params, s.params);
        append_values(query_documents, s.query_documents), append_values(key_documents, s.key_documents);
        append_values(query_position, s.query_position), append_values(key_position, s.key_position);
        s.block_map.clear();
        for (int axis = 3; axis >= 0; --axis)
            s.block_map.push_back(block_map->dim[axis].extent);
        s.intervals = intervals->dim[1].extent, s.head_stride = intervals->dim[3].stride;
        s.scale = scale, s.softcap = softcap, s.temperature = temperature;
        s.dropout_threshold = dropout_threshold, s.seed_low = seed_low, s.seed_high = seed_high;
        s.use_attend = use_attend, s.use_bias = use_bias, s.use_relative = use_relative, s.use_sinks = use_sinks;
        s.type_code = q->type.code, s.type_bits = q->type.bits;
    }

    int64_t keys() const { return key_count; }

    /** Channel d of token j of an item, of k or v with their scales. */
    double stored(const halide_buffer_t *tensor, const halide_buffer_t *scale, int64_t d, int64_t j, int64_t kv, int64_t b) const {
        const int64_t size = tensor->dim[1].extent, page = at<int32_t>(pages, {j / size, b});
        if (tensor->type.code == halide_type_float) return static_cast<double>(at<float>(tensor, {d, j % size, kv, page}));
        return static_cast<double>(at<int8_t>(tensor, {d, j % size, kv, page})) *
               static_cast<double>(at<float>(scale, {j % size, kv, page}));
    }

    bool attends(int64_t j, int64_t i, int64_t h, int64_t b) const {
        const int64_t position = i + at<int32_t>(offsets, {b});
        if (window && (j > position || j < position - at<int32_t>(params, {0}))) return false;
        if (use_attend && !at<uint8_t>(attend, {j, i, h, b})) return false;
        for (int64_t r = 0; r < intervals->dim[1].extent; ++r)
            if (j >= at<int32_t>(intervals, {0, r, i, h, b}) && j < at<int32_t>(intervals, {1, r, i, h, b})) return true;
        return false;
    }

    /** The score up to a stage, attune_score_stage; past the last one, as it enters softmax. */
    double score(int stage, int64_t j, int64_t i, int64_t h, int64_t b) const {
        const int64_t kv = h / (q->dim[2].extent / k->dim[2].extent);
        double sum = 0;
        for (int64_t d = 0; d < q->dim[0].extent; ++d)
            sum += static_cast<double>(at<float>(q, {d, i, h, b})) * stored(k, key_scale, d, j, kv, b);
        sum *= static_cast<double>(scale);
        if (stage == ATTUNE_SCORES_SCALED) return sum;
        if (softcap > 0) sum = static_cast<double>(softcap) * std::tanh(sum / static_cast<double>(softcap));
        if (stage == ATTUNE_SCORES_CAPPED) return sum;
        if (!attends(j, i, h, b)) return minus_infinity;
        if (use_relative) sum += static_cast<double>(at<float>(relative, {i - j + keys() - 1, h, b}));
        if (use_bias) sum += static_cast<double>(at<float>(bias, {j, i, h, b}));
        return stage == ATTUNE_SCORES_MASKED ? sum : sum / static_cast<double>(temperature);
    }
    double sink(int64_t h) const { return use_sinks ? static_cast<double>(at<float>(sinks, {h})) : minus_infinity; }
};

constexpr int entering_softmax = ATTUNE_SCORES_MASKED + 1;

struct AttentionLoop {
    const Inputs &inputs;
    halide_buffer_t *out, *lse;
};

void attend_row(const AttentionLoop &loop, const double *score, int64_t i, int64_t h, int64_t b) {
    const Inputs &s = loop.inputs;
    const int64_t kv = h / (s.q->dim[2].extent / s.k->dim[2].extent);
    const double largest = std::max(s.sink(h), *std::max_element(score, score + s.keys()));
    double sum = s.sink(h) > minus_infinity ? std::exp(s.sink(h) - largest) : 0;
    for (int64_t j = 0; j < s.keys(); ++j)
        if (score[j] > minus_infinity) sum += std::exp(score[j] - largest);
    at<float>(loop.lse, {i, h, b}) = static_cast<float>(sum > 0 ? largest + std::log(sum) : minus_infinity);
    for (int64_t d = 0; d < loop.out->dim[0].extent; ++d) {
        double value = 0;
        for (int64_t j = 0; j < s.keys(); ++j)
            if (score[j] > minus_infinity) value += std::exp(score[j] - largest) / sum * s.stored(s.v, s.value_scale, d, j, kv, b);
        at<float>(loop.out, {d, i, h, b}) = static_cast<float>(value);
    }
}

/** One head of one batch item: scratch and loop go through Halide's runtime, as a generated kernel's do. */
int attention_task(void *user_context, int index, uint8_t *closure) {
    const auto &loop = *reinterpret_cast<const AttentionLoop *>(closure);
    const Inputs &s = loop.inputs;
    const int64_t h = index % s.q->dim[2].extent, b = index / s.q->dim[2].extent;
    auto *score = static_cast<double *>(halide_malloc(user_context, static_cast<size_t>(s.keys()) * sizeof(double)));
    if (!score) return halide_error_code_out_of_memory;
    for (int64_t i = 0; i < s.q->dim[1].extent; ++i) {
        for (int64_t j = 0; j < s.keys(); ++j)
            score[j] = s.score(entering_softmax, j, i, h, b);
        attend_row(loop, score, i, h, b);
    }
    halide_free(user_context, score);
    return 0;
}

} // namespace

int run_fake_attention(const char *name, void **arguments) {
    Arguments a(arguments);
    void *user_context = a.number<void *>();
    Inputs inputs(a);
    inputs.v = a.buffer();
    inputs.value_scale = a.buffer();
    a.number<int32_t>(); // rows_per_task
    inputs.window = name == std::string_view("causal_window");
    inputs.note(name);
    if (fail_next_kernel()) {
        halide_error(user_context, "the fake kernel was told to fail");
        return -7;
    }
    halide_buffer_t *out = a.buffer(), *lse = a.buffer();
    AttentionLoop loop = {inputs, out, lse};
    return halide_do_par_for(user_context, attention_task, 0, inputs.q->dim[2].extent * inputs.q->dim[3].extent,
                             reinterpret_cast<uint8_t *>(&loop));
}

int run_fake_weights(const char *name, void **arguments) {
    Arguments a(arguments + 1);
    Inputs s(a);
    s.note(name);
    const auto stage = a.number<int32_t>();
    seen().stages.push_back(stage);
    halide_buffer_t *lse = a.buffer(), *weights = a.buffer();
    for (int64_t b = 0; b < s.q->dim[3].extent; ++b)
        for (int64_t h = 0; h < s.q->dim[2].extent; ++h)
            for (int64_t i = 0; i < s.q->dim[1].extent; ++i)
                for (int64_t j = 0; j < s.keys(); ++j) {
                    const double score = s.score(stage > 0 ? stage : entering_softmax, j, i, h, b);
                    const double weight = score > minus_infinity ? std::exp(score - static_cast<double>(at<float>(lse, {i, h, b}))) : 0;
                    at<float>(weights, {j, i, h, b}) = static_cast<float>(stage > 0 ? score : weight);
                }
    return 0;
}

int note_fake_attention(const char *name, void **arguments) {
    Arguments a(arguments + 1);
    Inputs(a).note(name);
    return 0;
}

int note_fake_weights(const char *name, void **arguments) {
    Arguments a(arguments + 1);
    Inputs(a).note(name);
    seen().stages.push_back(a.number<int32_t>());
    return 0;
}

namespace {

const char *const window_params[] = {"reach"};
const char *const pattern_params[] = {"step", "rows", "columns"};

attune_kernel own(const char *name, int32_t dim, const char *mask, int (*call)(void **)) {
    return {sizeof(attune_kernel),
            name,
            "attention",
            "flash",
            fake_targets,
            ATTUNE_F32,
            ATTUNE_F32,
            dim,
            0,
            mask,
            "",
            "",
            0,
            nullptr,
            call,
            ATTUNE_CPU,
            0};
}

attune_kernel with_params(attune_kernel kernel, int32_t count, const char *const *params) {
    kernel.param_count = count, kernel.params = params;
    return kernel;
}

attune_kernel with_texts(attune_kernel kernel, const char *score, const char *position) {
    kernel.score = score, kernel.position = position;
    return kernel;
}

attune_kernel for_targets(attune_kernel kernel, const char *targets) {
    kernel.targets = targets;
    return kernel;
}

int run_causal_window(void **a) { return run_fake_attention("causal_window", a); }
int run_opaque(void **a) { return run_fake_attention("opaque", a); }
int run_pattern(void **a) { return run_fake_attention("pattern", a); }
int run_scored(void **a) { return run_fake_attention("scored", a); }

} // namespace

const attune_kernel causal_window_kernel =
    with_params(own("causal_window", 4, "causal & window(reach, 0)", run_causal_window), 1, window_params);
const attune_kernel opaque_kernel = own("opaque", 0, "", run_opaque);
const attune_kernel foreign_kernel = for_targets(own("foreign", 0, "", run_opaque), "x86-64-linux-avx512-avx512_knl");
const attune_kernel pattern_kernel = with_params(
    own("pattern", 4, "causal & (dilated(step) | tensor | documents & lengths) & !(blocks(rows, columns) & strided(3))", run_pattern), 3,
    pattern_params);
const attune_kernel scored_kernel = with_texts(own("scored", 4, "none", run_scored), "softcap(3) alibi bias", "rotary(half)");

} // namespace attune::runtime
