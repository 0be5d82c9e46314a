#include "options.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "error.h"

namespace attune::tools {
namespace {

constexpr double largest = std::numeric_limits<double>::max();

bool within(double value, const Limit &limit) {
    return value <= limit.high && (limit.low_included ? value >= limit.low : value > limit.low); // NaN fails
}

/** The whole of `text` as a number, or NaN: no blanks, no trailing characters, no number past double's range. */
double read_number(const std::string &text) {
    const char *begin = text.c_str(), *end = begin + text.size();
    if (text.size() > 1 && *begin == '+' && text[1] != '-') ++begin; // from_chars takes no plus sign
    double value = 0;
    const auto [stop, error] = std::from_chars(begin, end, value);
    return error == std::errc() && stop == end ? value : std::nan("");
}

bool looks_like_integer(const std::string &text) {
    const std::size_t digits = text.find_first_not_of("+-");
    return digits <= 1 && digits != std::string::npos && text.find_first_not_of("0123456789", digits) == std::string::npos;
}

} // namespace

const Limit finite{-largest, largest, true, "a finite number"};
const Limit positive{0, largest, false, "a finite number above 0"};
const Limit positive_or_zero{0, largest, true, "0 or a finite number above 0"};
const Limit below_one{0, std::nextafter(1.0, 0.0), true, "0 or more, and below 1"};

double parse_double(const std::string &option, const std::string &text, const Limit &limit) {
    const double value = read_number(text);
    if (!within(value, limit)) bad_argument("{} is {}; it must be {}", option, text, limit.text);
    return value;
}

float parse_float(const std::string &option, const std::string &text, const Limit &limit) {
    const double value = parse_double(option, text, limit);
    const float narrowed = static_cast<float>(value);
    // A temperature of 1e-60 would turn into 0, which means something else.
    if (!std::isfinite(narrowed) || (narrowed == 0 && value != 0))
        bad_argument("{} is {}; it must be {} in float32", option, text, limit.text);
    return narrowed;
}

bool looks_like_number(const std::string &text) {
    char *stop = nullptr;
    std::strtod(text.c_str(), &stop);
    return stop != text.c_str() && *stop == '\0';
}

int64_t parse_integer(const std::string &option, const std::string &text, int64_t low, int64_t high) {
    const char *begin = text.c_str() + (text[0] == '+' ? 1 : 0);
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(begin, text.c_str() + text.size(), value);
    if (!looks_like_integer(text) || error != std::errc() || *stop != '\0' || value < low || value > high)
        bad_argument("{} is {}; it must be an integer from {} to {}", option, text, low, high);
    return value;
}

uint64_t parse_unsigned(const std::string &option, const std::string &text) {
    uint64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || stop != text.data() + text.size())
        bad_argument("{} is {}; it must be an integer from 0 to {}", option, text, std::numeric_limits<uint64_t>::max());
    return value;
}

attune_type parse_dtype(const std::string &text) {
    for (const attune_type type : {ATTUNE_F32, ATTUNE_F16, ATTUNE_BF16})
        if (text == attune_type_name(type)) return type;
    bad_argument("--dtype is {}; it must be f32, f16 or bf16", text);
}

CLI::Option *add_text(CLI::App &app, const std::string &name, std::string &target, const std::string &help) {
    const auto assign = [&target, name](const std::string &text) {
        if (text.empty()) bad_argument("{} is ''; it must not be empty", name.substr(name.rfind(',') + 1));
        target = text;
    };
    return app.add_option_function<std::string>(name, assign, help);
}

CLI::Option *add_float(CLI::App &app, const std::string &name, float &target, const Limit &limit, const std::string &help) {
    return app.add_option_function<std::string>(
        name, [&target, name, limit](const std::string &text) { target = parse_float(name, text, limit); }, help);
}

CLI::Option *add_double(CLI::App &app, const std::string &name, double &target, const Limit &limit, const std::string &help) {
    return app.add_option_function<std::string>(
        name, [&target, name, limit](const std::string &text) { target = parse_double(name, text, limit); }, help);
}

CLI::Option *add_integer(CLI::App &app, const std::string &name, int64_t &target, int64_t low, int64_t high, const std::string &help) {
    return app.add_option_function<std::string>(
        name, [&target, name, low, high](const std::string &text) { target = parse_integer(name, text, low, high); }, help);
}

attune_call RunOptions::call() const {
    attune_call call = ATTUNE_CALL_INIT;
    call.threads = static_cast<int32_t>(threads);
    return call;
}

void add_run_options(CLI::App &app, RunOptions &options) {
    add_text(app, "--schedule", options.schedule, "Schedule by name (see `attune list`); Attune chooses by default");
    add_integer(app, "--threads", options.threads, 1, max_threads, "Threads; every CPU this process may use by default");
}

} // namespace attune::tools
