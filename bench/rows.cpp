#include "bench/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "bench/buffer.h"
#include "bench/elements.h"
#include "bench/exact.h"
#include "bench/machine.h"

namespace attune::bench {
namespace {

constexpr double rotary_base = 10000.0;
constexpr float norm_epsilon = 1e-5f;

bool is_rotary(const RowCase &c) { return std::string_view(c.operation).substr(0, 6) == "rotary"; }
bool is_layer_norm(const RowCase &c) { return std::strcmp(c.operation, "layer_norm") == 0; }
bool is_norm(const RowCase &c) { return is_layer_norm(c) || std::strcmp(c.operation, "rms_norm") == 0; }

Status run(const RowCase &c, const std::string &schedule, char *x, char *y, Call &call) {
    return run_rows(c, schedule, {x, c.dtype, {c.heads, c.rows, c.columns}}, {y, c.dtype, {c.heads, c.rows, c.columns}}, call);
}

/** Su et al., arXiv 2104.09864, equation 34, at `position`, of the first `turned` columns. */
Exact exact_rotary(const std::vector<float> &x, int64_t turned, int64_t position, bool half) {
    Exact y(x.begin(), x.end());
    for (int64_t pair = 0; pair < turned / 2; ++pair) {
        const double angle = double(position) * std::pow(rotary_base, -2.0 * double(pair) / double(turned));
        const auto first = static_cast<std::size_t>(half ? pair : 2 * pair);
        const std::size_t second = half ? first + static_cast<std::size_t>(turned / 2) : first + 1;
        y[first] = x[first] * std::cos(angle) - x[second] * std::sin(angle);
        y[second] = x[first] * std::sin(angle) + x[second] * std::cos(angle);
    }
    return y;
}

Exact exact_row(const RowCase &c, const std::vector<float> &x, int64_t position) {
    if (is_rotary(c)) return exact_rotary(x, c.turned > 0 ? c.turned : c.columns, position, std::strcmp(c.operation, "rotary_half") == 0);
    if (is_norm(c)) return exact_norm({x.begin(), x.end()}, is_layer_norm(c), norm_epsilon);
    return exact_softmax({x.begin(), x.end()}, std::strcmp(c.operation, "log_softmax") == 0);
}

double max_error(const RowCase &c, const Buffer &x, const Buffer &y) {
    constexpr int64_t checked = 16;
    const auto exact = [&](int64_t row) {
        std::vector<float> numbers;
        for (int64_t column = 0; column < c.columns; ++column)
            numbers.push_back(element(x, c.dtype, row * c.columns + column));
        return exact_row(c, numbers, row % c.rows);
    };
    return largest_error(c.heads * c.rows, checked, exact,
                         [&](int64_t row, int64_t column) { return element(y, c.dtype, row * c.columns + column); });
}

int64_t numbers(const RowCase &c) { return c.heads * c.rows * c.columns; }

/** Copies of an input of so many bytes, and as many outputs. */
struct Copies {
    static constexpr int64_t alignment = 4096; // as tensors have that a library allocates
    int64_t count, bytes;                      // of one
    Buffer x, y;
    std::optional<attune_type> holds = {};

    Copies(int64_t copies, int64_t bytes_each)
        : count(copies), bytes((bytes_each + alignment - 1) / alignment * alignment),
          x(make_buffer(count * bytes / int64_t{sizeof(float)})), y(make_buffer(count * bytes / int64_t{sizeof(float)})) {
        std::memset(y.get(), 0, static_cast<std::size_t>(count * bytes)); // so that all its pages are there
    }
    char *x_of(int64_t copy) const { return reinterpret_cast<char *>(x.get()) + copy * bytes; }
    char *y_of(int64_t copy) const { return reinterpret_cast<char *>(y.get()) + copy * bytes; }
    /** Normally distributed numbers of the type in every input. */
    void fill(attune_type type) {
        if (holds == type) return;
        std::mt19937_64 random(0);
        const int64_t elements = bytes / static_cast<int64_t>(attune_type_size(type));
        const Buffer values = stored(normal(elements, type, random), type, elements);
        for (int64_t copy = 0; copy < count; ++copy)
            std::memcpy(x_of(copy), values.get(), static_cast<std::size_t>(bytes));
        holds = type;
    }
};

} // namespace

const std::vector<RowCase> &row_cases() {
    static const std::vector<RowCase> cases = {
        {"softmax_128", "softmax", 1, 131072, 128},
        {"softmax_1000", "softmax", 1, 16777, 1000},
        {"softmax_4096", "softmax", 1, 4096, 4096},
        {"log_softmax_50257", "log_softmax", 1, 334, 50257},
        {"layer_norm_768", "layer_norm", 1, 21845, 768},
        {"rms_norm_4096", "rms_norm", 1, 4096, 4096},
        {"rotary_half_128", "rotary_half", 32, 4096, 128},
        {"rotary_half_80", "rotary_half", 32, 6553, 80},
        {"rotary_half_32_of_128", "rotary_half", 32, 4096, 128, ATTUNE_F32, 32},
        {"rotary_interleaved_128", "rotary_interleaved", 32, 4096, 128},
        {"layer_norm_768_bf16", "layer_norm", 1, 43690, 768, ATTUNE_BF16},
        {"rms_norm_4096_bf16", "rms_norm", 1, 8192, 4096, ATTUNE_BF16},
        {"softmax_4096_bf16", "softmax", 1, 8192, 4096, ATTUNE_BF16},
        {"rotary_half_128_bf16", "rotary_half", 64, 4096, 128, ATTUNE_BF16},
        {"rotary_half_80_bf16", "rotary_half", 64, 6553, 80, ATTUNE_BF16},
        {"rotary_half_32_of_128_bf16", "rotary_half", 64, 4096, 128, ATTUNE_BF16, 32},
        {"rotary_half_128_f16", "rotary_half", 64, 4096, 128, ATTUNE_F16},
    };
    return cases;
}

std::vector<RowCase> softmax_lengths() {
    std::vector<RowCase> cases;
    for (const attune_type type : {ATTUNE_F32, ATTUNE_BF16})
        for (const int64_t columns : {32, 128, 512, 1000, 2048, 4096, 8192, 16384, 50257, 128256}) {
            const std::string name = "softmax_" + std::to_string(columns) + (type == ATTUNE_BF16 ? "_bf16" : "");
            const auto is_it = [&](const RowCase &c) { return c.name == name; };
            if (std::none_of(row_cases().begin(), row_cases().end(), is_it)) cases.push_back({name, "softmax", 1, 1, columns, type});
        }
    return cases;
}

const attune_kernel *linked_kernel(const RowCase &c, attune_device device) {
    for (int32_t i = 0; i < attune_kernel_count(); ++i)
        if (const attune_kernel *kernel = attune_kernel_at(i);
            std::strcmp(kernel->operation, c.operation) == 0 && kernel->device == device && kernel->dtype == c.dtype)
            return kernel;
    return nullptr;
}

Status run_rows(const RowCase &c, const std::string &schedule, const TensorView &x, const TensorView &y, Call &call) {
    if (is_rotary(c)) {
        RotaryOptions options;
        options.base = rotary_base, options.schedule = schedule, options.rotary_dim = c.turned;
        options.layout = std::strcmp(c.operation, "rotary_half") == 0 ? ATTUNE_ROTARY_HALF : ATTUNE_ROTARY_INTERLEAVED;
        return rotary(x, y, options, &call);
    }
    if (is_norm(c)) {
        NormOptions options;
        options.epsilon = norm_epsilon, options.schedule = schedule;
        return is_layer_norm(c) ? layer_norm(x, y, options, &call) : rms_norm(x, y, options, &call);
    }
    SoftmaxOptions options;
    options.log = std::strcmp(c.operation, "log_softmax") == 0, options.schedule = schedule;
    return softmax(x, y, options, &call);
}

namespace {

std::string default_schedule(const RowCase &c) {
    const attune_kernel *kernel = linked_kernel(c, ATTUNE_CPU);
    return kernel ? kernel->schedule : "";
}

Result<CaseResult> measure(const RowCase &c, const Settings &settings, const Copies &copies) {
    CaseResult result{{}, copies.count, false};
    Call call(settings.threads);
    for (const std::string &schedule : settings.schedules) {
        spoil(copies.y, c.dtype, numbers(c)); // what isn't written must not pass
        if (Status status = run(c, schedule, copies.x_of(0), copies.y_of(0), call); !status) return status;
        result.schedules.push_back({schedule.empty() ? default_schedule(c) : schedule, std::numeric_limits<double>::infinity(),
                                    max_error(c, copies.x, copies.y), static_cast<int64_t>(call.workspace_bytes)});
    }
    const auto round = [&](std::size_t i) {
        return time_round(copies.count, result.schedules[i].seconds,
                          [&](int64_t copy) { return run(c, settings.schedules[i], copies.x_of(copy), copies.y_of(copy), call); });
    };
    if (Status status = take_turns(settings, settings.schedules.size(), round); !status) return status;
    return result;
}

} // namespace

Status check_rows(const Settings &settings) {
    char x[2 * sizeof(float)] = {}, y[2 * sizeof(float)];
    Call call(settings.threads);
    for (const std::string &schedule : settings.schedules)
        for (RowCase c : row_cases()) {
            c.heads = c.rows = 1, c.columns = 2, c.turned = 0;
            if (Status status = run(c, schedule, x, y, call); !status) return status;
        }
    return {};
}

Status measure_rows(const Settings &settings, const std::function<void(const RowCase &, const CaseResult &)> &add) {
    double bytes = 0; // of an input
    for (const RowCase &c : row_cases())
        bytes = std::max(bytes, c.bytes() / 2);
    const double available = double(available_memory_bytes());
    if (available < 2 * (2 * bytes)) // as for a rotation, half of it is used
        return {ATTUNE_OUT_OF_MEMORY,
                fmt::format("--rows takes {:.1f} GB; {:.1f} GB of memory are available", 2 * bytes * 1e-9, available * 1e-9)};
    const Rotation rotation = rotation_over(bytes, 2 * bytes);
    Copies copies(rotation.copies, static_cast<int64_t>(bytes));
    for (const RowCase &c : row_cases()) {
        copies.fill(c.dtype);
        Result<CaseResult> result = measure(c, settings, copies);
        if (!result) return result.status();
        result->capped = rotation.capped;
        add(c, *result);
    }
    return {};
}

} // namespace attune::bench
