#include "bench/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "bench/buffer.h"
#include "bench/exact.h"
#include "bench/machine.h"

namespace attune::bench {
namespace {

constexpr double rotary_base = 10000.0;
constexpr float norm_epsilon = 1e-5f;

bool is_rotary(const RowCase &c) { return std::string_view(c.operation).substr(0, 6) == "rotary"; }
bool is_layer_norm(const RowCase &c) { return std::strcmp(c.operation, "layer_norm") == 0; }
bool is_norm(const RowCase &c) { return is_layer_norm(c) || std::strcmp(c.operation, "rms_norm") == 0; }

/** Schedule "" of an operation: the first that is linked in for the CPU. */
std::string default_schedule(const char *operation) {
    for (int32_t i = 0; i < attune_kernel_count(); ++i)
        if (const attune_kernel *kernel = attune_kernel_at(i);
            std::strcmp(kernel->operation, operation) == 0 && kernel->device == ATTUNE_CPU && kernel->dtype == ATTUNE_F32)
            return kernel->schedule;
    return "";
}

Status run(const RowCase &c, const std::string &schedule, float *x, float *y, Call &call) {
    const TensorView from(x, {c.heads, c.rows, c.columns}), to(y, {c.heads, c.rows, c.columns});
    if (is_rotary(c)) {
        RotaryOptions options;
        options.base = rotary_base, options.schedule = schedule;
        options.layout = std::strcmp(c.operation, "rotary_half") == 0 ? ATTUNE_ROTARY_HALF : ATTUNE_ROTARY_INTERLEAVED;
        return rotary(from, to, options, &call);
    }
    if (is_norm(c)) {
        NormOptions options;
        options.epsilon = norm_epsilon, options.schedule = schedule;
        return is_layer_norm(c) ? layer_norm(from, to, options, &call) : rms_norm(from, to, options, &call);
    }
    SoftmaxOptions options;
    options.log = std::strcmp(c.operation, "log_softmax") == 0, options.schedule = schedule;
    return softmax(from, to, options, &call);
}

/** Su et al., arXiv 2104.09864, equation 34, at `position`. */
Exact exact_rotary(const float *x, int64_t columns, int64_t position, bool half) {
    Exact y(static_cast<std::size_t>(columns));
    for (int64_t pair = 0; pair < columns / 2; ++pair) {
        const double angle = double(position) * std::pow(rotary_base, -2.0 * double(pair) / double(columns));
        const int64_t first = half ? pair : 2 * pair, second = half ? pair + columns / 2 : first + 1;
        y[static_cast<std::size_t>(first)] = x[first] * std::cos(angle) - x[second] * std::sin(angle);
        y[static_cast<std::size_t>(second)] = x[first] * std::sin(angle) + x[second] * std::cos(angle);
    }
    return y;
}

Exact exact_row(const RowCase &c, const float *x, int64_t position) {
    if (is_rotary(c)) return exact_rotary(x, c.columns, position, std::strcmp(c.operation, "rotary_half") == 0);
    if (is_norm(c)) return exact_norm({x, x + c.columns}, is_layer_norm(c), norm_epsilon);
    return exact_softmax({x, x + c.columns}, std::strcmp(c.operation, "log_softmax") == 0);
}

double max_error(const RowCase &c, const float *x, const float *y) {
    constexpr int64_t checked = 16;
    return largest_error(
        c.heads * c.rows, checked, [&](int64_t row) { return exact_row(c, x + row * c.columns, row % c.rows); },
        [&](int64_t row, int64_t column) { return y[row * c.columns + column]; });
}

/** Copies of an input, and as many outputs. */
struct Copies {
    Buffer x, y;
    int64_t count, elements; // of one

    Copies(int64_t copies, int64_t numbers)
        : x(make_buffer(copies * numbers)), y(make_buffer(copies * numbers)), count(copies), elements(numbers) {
        std::mt19937_64 random(0);
        std::normal_distribution<float> normal;
        std::generate_n(x.get(), elements, [&] { return normal(random); });
        for (int64_t copy = 1; copy < count; ++copy)
            std::copy_n(x.get(), elements, x_of(copy));
        std::fill_n(y.get(), count * elements, 0.0f); // so that all its pages are there
    }
    float *x_of(int64_t copy) const { return x.get() + copy * elements; }
    float *y_of(int64_t copy) const { return y.get() + copy * elements; }
};

} // namespace

const std::vector<RowCase> &row_cases() {
    static const std::vector<RowCase> cases = {
        {"softmax_128", "softmax", 1, 131072, 128},
        {"softmax_4096", "softmax", 1, 4096, 4096},
        {"log_softmax_50257", "log_softmax", 1, 334, 50257},
        {"layer_norm_768", "layer_norm", 1, 21845, 768},
        {"rms_norm_4096", "rms_norm", 1, 4096, 4096},
        {"rotary_half_128", "rotary_half", 32, 4096, 128},
        {"rotary_interleaved_128", "rotary_interleaved", 32, 4096, 128},
    };
    return cases;
}

namespace {

int64_t numbers(const RowCase &c) { return c.heads * c.rows * c.columns; }

Result<CaseResult> measure(const RowCase &c, const Settings &settings, const Copies &copies) {
    CaseResult result{{}, copies.count, false};
    Call call(settings.threads);
    for (const std::string &schedule : settings.schedules) {
        std::fill_n(copies.y_of(0), copies.elements, std::numeric_limits<float>::quiet_NaN()); // what isn't written must not pass
        if (Status status = run(c, schedule, copies.x_of(0), copies.y_of(0), call); !status) return status;
        result.schedules.push_back({schedule.empty() ? default_schedule(c.operation) : schedule, std::numeric_limits<double>::infinity(),
                                    max_error(c, copies.x_of(0), copies.y_of(0)), static_cast<int64_t>(call.workspace_bytes)});
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
    std::vector<float> x(2), y(2);
    Call call(settings.threads);
    for (const std::string &schedule : settings.schedules)
        for (RowCase c : row_cases()) {
            c.heads = c.rows = 1, c.columns = 2;
            if (Status status = run(c, schedule, x.data(), y.data(), call); !status) return status;
        }
    return {};
}

Status measure_rows(const Settings &settings, const std::function<void(const RowCase &, const CaseResult &)> &add) {
    int64_t most = 0;
    for (const RowCase &c : row_cases())
        most = std::max(most, numbers(c));
    const double bytes = double(most) * sizeof(float), available = double(available_memory_bytes());
    if (available < 2 * (2 * bytes)) // as for a rotation, half of it is used
        return {ATTUNE_OUT_OF_MEMORY,
                fmt::format("--rows takes {:.1f} GB; {:.1f} GB of memory are available", 2 * bytes * 1e-9, available * 1e-9)};
    const Rotation rotation = rotation_over(bytes, 2 * bytes);
    const Copies copies(rotation.copies, most);
    for (const RowCase &c : row_cases()) {
        Result<CaseResult> result = measure(c, settings, copies);
        if (!result) return result.status();
        result->capped = rotation.capped;
        add(c, *result);
    }
    return {};
}

} // namespace attune::bench
