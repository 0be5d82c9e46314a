// Schedules of one declaration on a realistic shape: errors and rates side by side.
#include <attune/attune.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "../plain_attention.h"
#include "demo.h"

namespace demo {
namespace {

constexpr int64_t heads = 8, tokens = 1024, dim = 64;
constexpr int64_t row_step = 8;          // one row in 8 is checked
constexpr double largest_allowed = 4e-6; // of max |v|, for unit-normal inputs
constexpr double seconds_each = 0.4;     // of timing for a schedule and number of threads
constexpr double operations = 2.0 * heads * (tokens * tokens / 2.0) * (dim + dim);

struct Contender {
    attune::AttentionPlan plan;
    double error = 0;
    double seconds[2] = {1e9, 1e9}; // of the fastest run: on one thread, on every CPU
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

attune::AttentionArgs arguments(const example::Problem &p) {
    const auto view = [&](const std::vector<float> &t) { return attune::TensorView(t.data(), {1, p.heads, p.tokens, p.dim}); };
    return {view(p.q), view(p.k), view(p.v), view(p.out)};
}

/** The first run, checked, over an output of NaN: what isn't written must not pass. */
attune::Status check(Contender &contender, example::Problem &p) {
    std::fill(p.out.begin(), p.out.end(), std::numeric_limits<float>::quiet_NaN());
    attune::Status status = contender.plan.run(arguments(p));
    if (status.ok())
        contender.error = example::largest_error(
            p, [](int64_t i, int64_t j) { return j <= i; }, row_step);
    return status;
}

/** Runs the contenders in turn, so that a machine whose speed changes is fair to both, and keeps each one's fastest. */
attune::Status time_in_turn(std::vector<Contender> &contenders, const example::Problem &p, int which) {
    attune::Call call(which == 0 ? 1 : 0); // 0 threads: every CPU
    const attune::AttentionArgs args = arguments(p);
    for (const double end = now() + seconds_each * double(contenders.size()); now() < end;)
        for (Contender &contender : contenders) {
            const double start = now();
            if (attune::Status status = contender.plan.run(args, call); !status) return status;
            contender.seconds[which] = std::min(contender.seconds[which], now() - start);
        }
    return {};
}

attune::Result<attune::AttentionPlan> planned(const std::string &schedule) {
    attune::AttentionDesc desc;
    desc.head_dim = dim;
    desc.mask = "causal";
    desc.schedule = schedule;
    return attune::AttentionPlan::create(desc);
}

/** Attune's own choice first, which depends on the CPU, then the others. */
attune::Status measure(std::vector<Contender> &contenders) {
    example::Problem p(heads, tokens, dim);
    const auto chosen = planned("");
    if (!chosen) return chosen.status();
    const std::string choice = chosen->kernel_for(tokens, heads, heads, tokens)->schedule;
    std::vector<std::string> schedules = {choice};
    for (const char *other : {"flash", "materialized"})
        if (choice != other) schedules.emplace_back(other);
    for (const std::string &schedule : schedules) {
        auto plan = planned(schedule);
        if (!plan) return plan.status();
        contenders.push_back({std::move(*plan)});
        if (attune::Status status = check(contenders.back(), p); !status) return status;
    }
    for (int which : {0, 1})
        if (attune::Status status = time_in_turn(contenders, p, which); !status) return status;
    return {};
}

std::string rate(double seconds) { return fmt::format("{:.0f} GFLOP/s", operations / seconds * 1e-9); }

} // namespace

bool show_realistic_shape(const Terminal &terminal) {
    fmt::print("{}\n", terminal.bold(fmt::format("Batch 1, {} heads, {} tokens, D {}, causal, f32", heads, tokens, dim)));
    std::fflush(stdout);
    std::vector<Contender> contenders;
    if (const attune::Status status = measure(contenders); !status) {
        fmt::print(stderr, "demo: {}\n", status.message);
        return false;
    }
    fmt::print("\n  {:13} {:34} {:>8} {:>14} {:>14}\n", "schedule", "kernel", "error", "one thread", "every CPU");
    bool right = true;
    for (const Contender &c : contenders) {
        const attune_kernel &kernel = c.plan.kernel();
        fmt::print("  {:13} {:34} {:8.1e} {:>14} {:>14}\n", kernel.schedule, kernel.name, c.error, rate(c.seconds[0]), rate(c.seconds[1]));
        right = right && c.error <= largest_allowed;
    }
    const Contender &first = contenders.front(), &last = contenders.back();
    const auto ratio = [&](int which) { return fmt::format("{:.1f} x", last.seconds[which] / first.seconds[which]); };
    const std::string beside = fmt::format("{} beside {}", first.plan.kernel().schedule, last.plan.kernel().schedule);
    fmt::print("  {:57} {:>14} {:>14}\n", beside, ratio(0), ratio(1));
    const std::string note = fmt::format("Errors are against float64, as a share of max |v|, over one row in {}. Rates count useful work, "
                                         "2 H (N M / 2) (D + Dv)\n  operations; each is the fastest of runs taken in turn.",
                                         row_step);
    fmt::print("\n  {}\n", terminal.faint(note));
    return right;
}

} // namespace demo
