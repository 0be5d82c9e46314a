// `attune bench`: times schedules on the named cases, or on a shape of one's own.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/cases.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench_report.h"
#include "commands.h"
#include "error.h"
#include "options.h"

namespace attune::tools {
namespace {

struct BenchOptions {
    std::string case_name, shape, mask, dtype = "f32", schedules = "flash"; // empty: not given
    int64_t threads = 1;
    double seconds = 0.5;
    bool json = false;
};

std::vector<std::string> split(const std::string &text) {
    std::vector<std::string> parts(1);
    for (char c : text) {
        if (c == ',')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

bench::Case named_case(const std::string &name) {
    if (const auto found = bench::find_case(name)) return *found;
    std::string names;
    for (const bench::Case &c : bench::named_cases())
        names += (names.empty() ? "" : ", ") + c.name;
    bad_argument("--case is {}; it must be one of {}", name, names);
}

bench::Case case_of_shape(const std::string &text) {
    const std::vector<std::string> parts = split(text);
    if (parts.size() < 6 || parts.size() > 7) bad_argument("--shape is {}; it must be B,Hq,Hkv,N,M,D or B,Hq,Hkv,N,M,D,Dv", text);
    std::vector<int64_t> extents;
    for (const std::string &part : parts)
        extents.push_back(parse_integer("an extent of --shape", part, 1, std::numeric_limits<int32_t>::max()));
    if (extents[1] % extents[2] != 0) bad_argument("--shape has Hq = {}; it must be a multiple of Hkv = {}", extents[1], extents[2]);
    return {text, extents[0], extents[1], extents[2], extents[3], extents[4], extents[5], extents.back()};
}

std::vector<bench::Case> chosen_cases(const BenchOptions &options) {
    std::vector<bench::Case> cases = bench::named_cases();
    if (!options.case_name.empty()) cases = {named_case(options.case_name)};
    if (!options.shape.empty()) cases = {case_of_shape(options.shape)};
    if (!options.mask.empty())
        for (bench::Case &c : cases)
            c.mask = options.mask, c.counts_half = false;
    return cases;
}

std::vector<std::string> chosen_schedules(const BenchOptions &options) {
    std::vector<std::string> names = split(options.schedules), sorted = names;
    std::sort(sorted.begin(), sorted.end());
    if (sorted.front().empty()) bad_argument("--schedule is '{}'; it must be names with commas between them", options.schedules);
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) bad_argument("--schedule is {}; it names {} twice", options.schedules, *twice);
    return names;
}

/** One line on a terminal that is written over as the timing goes on; nothing elsewhere. */
class Progress {
public:
    void show(const std::string &text) {
        if (terminal_) fmt::print(stderr, "\r\033[K{}", text);
    }
    ~Progress() { show(""); }

private:
    bool terminal_ = ::isatty(STDERR_FILENO) == 1;
};

void run_bench(const BenchOptions &options) {
    if (options.dtype != "f32") bad_argument("--dtype is {}; it must be f32", options.dtype);
    const std::vector<bench::Case> cases = chosen_cases(options);
    bench::Settings settings{chosen_schedules(options), static_cast<int32_t>(options.threads), options.seconds, {}};
    for (const bench::Case &c : cases)
        require_ok(bench::check(c, settings)); // before anything takes time
    Progress progress;
    progress.show("measuring the FMA peak and the read bandwidth");
    bench::FmaPeak peak(settings.threads);
    BenchReport report(settings.threads, peak, bench::measure_read_bandwidth(settings.threads), options.json);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::string title = fmt::format("[{}/{}] {}", i + 1, cases.size(), cases[i].name);
        progress.show(title);
        settings.report = [&](double fraction) {
            peak.sample();
            progress.show(fmt::format("{} {:.0f} %", title, 100 * fraction));
        };
        const Result<bench::CaseResult> result = bench::measure(cases[i], settings);
        progress.show("");
        require_ok(result.status());
        report.add(cases[i], result.value());
    }
    report.finish();
}

} // namespace

void add_bench(CLI::App &parent) {
    CLI::App *app = parent.add_subcommand("bench", "Time schedules: rate, share of what the machine can do, error against float64");
    const auto options = std::make_shared<BenchOptions>();
    CLI::Option *name = add_text(*app, "--case", options->case_name, "One named case; all of them by default");
    add_text(*app, "--shape", options->shape, "B,Hq,Hkv,N,M,D[,Dv] instead of a named case")->excludes(name);
    add_text(*app, "--mask", options->mask, "Mask as text, instead of the case's own");
    add_text(*app, "--dtype", options->dtype, "Type of the tensors: f32");
    add_text(*app, "--schedule", options->schedules, "Schedules to time in turn, with commas between them; flash by default");
    add_integer(*app, "--threads", options->threads, 1, max_threads, "Threads; 1 by default");
    add_double(*app, "--seconds", options->seconds, positive, "Seconds of timing for each case and schedule; 0.5 by default");
    app->add_flag("--json", options->json, "Print one JSON object a line")->disable_flag_override();
    app->callback([options] { run_bench(*options); });
}

} // namespace attune::tools
