// Numbers and names from the command line, checked where they are read: an error names the option, the value and the limit.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "attune/attune.hpp"

namespace attune::tools {

/** What a number may be. `text` completes the sentence "--x is 3; it must be ...". */
struct Limit {
    double low, high;
    bool low_included;
    const char *text;
};
inline constexpr int64_t max_threads = 1024;

extern const Limit finite, positive, positive_or_zero, below_one;

/** A decimal number within float32's range. Throws CommandError. */
float parse_float(const std::string &option, const std::string &text, const Limit &limit);
/** A decimal number. Throws CommandError. */
double parse_double(const std::string &option, const std::string &text, const Limit &limit);
/** A decimal integer in [low, high]. Throws CommandError. */
int64_t parse_integer(const std::string &option, const std::string &text, int64_t low, int64_t high);
/** A decimal integer from 0 to 2^64 - 1. Throws CommandError. */
uint64_t parse_unsigned(const std::string &option, const std::string &text);
/** Whether `text` is a number in form, and no file's name. */
bool looks_like_number(const std::string &text);

/** f32, f16 or bf16. Throws CommandError. */
attune_type parse_dtype(const std::string &text);

/** Declares an option whose value goes to `target`, which must live until parsing is done. Text must not be empty. */
CLI::Option *add_text(CLI::App &app, const std::string &name, std::string &target, const std::string &help);
CLI::Option *add_float(CLI::App &app, const std::string &name, float &target, const Limit &limit, const std::string &help);
CLI::Option *add_double(CLI::App &app, const std::string &name, double &target, const Limit &limit, const std::string &help);
CLI::Option *add_integer(CLI::App &app, const std::string &name, int64_t &target, int64_t low, int64_t high, const std::string &help);

/** What every operation takes: --schedule and --threads; and --device, which add_device declares for some. */
struct RunOptions {
    std::string schedule; // empty: Attune's choice
    int64_t threads = 0;  // 0: every CPU this process may use
    std::string device = "cpu";

    attune_call call() const;
};
void add_run_options(CLI::App &app, RunOptions &options);

} // namespace attune::tools
