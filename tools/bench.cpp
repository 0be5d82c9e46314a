// `attune bench`: times schedules on the named cases, or on a shape of one's own.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/cases.h"
#include "bench/layers.h"
#include "bench/machine.h"
#include "bench/measure.h"
#include "bench/rows.h"
#include "bench_report.h"
#include "commands.h"
#include "cuda_bench.h"
#include "device.h"
#include "error.h"
#include "options.h"

namespace attune::tools {
namespace {

constexpr int64_t max_turns = 1000;

struct BenchOptions {
    std::string case_name, shape, mask, dtype = "f32", schedules; // empty: not given
    int64_t threads = 1, turns = 0;                               // 0: not given
    double seconds = 0.5;
    bool masks = false, scaling = false, rows = false, layers = false, json = false;
    std::string device = "cpu";
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
    for (const std::vector<bench::Case> *cases : {&bench::named_cases(), &bench::mask_cases()})
        for (const bench::Case &c : *cases)
            names += (names.empty() ? "" : ", ") + c.name;
    for (const bench::LayerCase &c : bench::layer_cases())
        names += ", " + c.name;
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

/** A window over ever more tokens, each case twice as long as the one before. All go round as much memory as the longest, since what a
 * short one finds in the cache is nothing that its length saves it. */
std::vector<bench::Case> scaling_cases() {
    constexpr int64_t longest = 65536;
    std::vector<bench::Case> cases;
    for (int64_t tokens = 4096; tokens <= longest; tokens *= 2) {
        cases.push_back({fmt::format("window_256_over_{}", tokens), 1, 1, 1, tokens, tokens, 64, 64});
        cases.back().mask = "window(256, 0)";
        cases.back().copies = longest / tokens;
    }
    return cases;
}

/** p of the power law time = c tokens^p that fits best, by least squares of the logarithms. */
double fitted_exponent(const std::vector<bench::Case> &cases, const std::vector<double> &seconds) {
    double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    const auto count = static_cast<double>(cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const double x = std::log(double(cases[i].keys)), y = std::log(seconds[i]);
        sum_x += x, sum_y += y, sum_xx += x * x, sum_xy += x * y;
    }
    return (count * sum_xy - sum_x * sum_y) / (count * sum_xx - sum_x * sum_x);
}

std::vector<bench::Case> chosen_cases(const BenchOptions &options) {
    std::vector<bench::Case> cases = options.masks ? bench::mask_cases() : bench::named_cases();
    if (options.scaling) cases = scaling_cases();
    if (!options.case_name.empty()) cases = {named_case(options.case_name)};
    if (!options.shape.empty()) cases = {case_of_shape(options.shape)};
    if (!options.mask.empty())
        for (bench::Case &c : cases)
            c.mask = options.mask, c.counts_half = false;
    return cases;
}

std::vector<std::string> chosen_schedules(const BenchOptions &options) {
    if (options.schedules.empty()) return {""}; // Attune's choice
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

bench::Settings settings_of(const BenchOptions &options) {
    bench::Settings settings;
    settings.schedules = chosen_schedules(options), settings.threads = static_cast<int32_t>(options.threads);
    settings.seconds = options.seconds;
    if (options.turns != 0) settings.turns = options.turns;
    return settings;
}

void check_row_options(const BenchOptions &options) {
    if (options.dtype != "f32") bad_argument("--dtype is {}; --rows takes none, and times each kernel in its types", options.dtype);
    if (!options.mask.empty()) bad_argument("--mask is {}; what --rows times has none", options.mask);
}

/** Attention, on the usual cases or a shape, or kernels that memory limits. */
void run_on_gpu(const BenchOptions &options) {
    if (!options.case_name.empty() || options.masks || options.scaling || options.layers)
        bad_argument("--case, --masks, --scaling and --layers are for --device cpu; on cuda --shape, --mask and --rows say what is timed");
    if (options.turns != 0) bad_argument("--turns is {}; it is for --device cpu", options.turns);
    CudaBenchOptions cuda;
    cuda.schedules = chosen_schedules(options), cuda.seconds = options.seconds, cuda.json = options.json;
    if (options.rows) {
        check_row_options(options);
        if (!options.schedules.empty()) bad_argument("--schedule is {}; on --device cuda --rows takes none", options.schedules);
        return run_cuda_rows(cuda);
    }
    cuda.type = parse_dtype(options.dtype);
    const std::string mask = options.mask.empty() ? "none" : options.mask;
    if (options.shape.empty() && mask != "none") bad_argument("--mask is {}; on --device cuda it goes with --shape", mask);
    if (!options.shape.empty()) {
        cuda.cases = {case_of_shape(options.shape)};
        bench::Case &c = cuda.cases[0];
        if (c.value_dim != c.head_dim) bad_argument("--shape has Dv = {}; on --device cuda it must be D = {}", c.value_dim, c.head_dim);
        c.mask = mask;
    }
    run_cuda_bench(cuda);
}

/** Kernels that memory limits. */
void run_rows(const BenchOptions &options) {
    check_row_options(options);
    bench::Settings settings = settings_of(options);
    require_ok(bench::check_rows(settings)); // before anything takes time
    Progress progress;
    progress.show("measuring how fast memory is copied");
    bench::Bandwidth copying = bench::copy_bandwidth(settings.threads);
    RowReport report(settings.threads, copying, options.json);
    settings.report = [&](double fraction) {
        copying.sample();
        progress.show(fmt::format("timing {:.0f} %", 100 * fraction));
    };
    require_ok(bench::measure_rows(settings, [&](const bench::RowCase &c, const bench::CaseResult &result) {
        progress.show("");
        report.add(c, result);
    }));
    report.finish();
}

/** Linear layers and blocks made of them. */
void run_layers(const BenchOptions &options) {
    const attune_type type = parse_dtype(options.dtype);
    if (type == ATTUNE_F16) bad_argument("--dtype is f16; layers take f32 or bf16");
    if (!options.mask.empty()) bad_argument("--mask is {}; what --layers times has none", options.mask);
    std::vector<bench::LayerCase> cases = bench::layer_cases();
    if (const auto one = bench::find_layer_case(options.case_name)) cases = {*one};
    const bool one_linear = cases.size() == 1 && cases[0].kind == bench::LayerCase::linear;
    if (!options.schedules.empty() && !one_linear)
        bad_argument("--schedule is {}; of layers, it goes with --case and the name of a linear one", options.schedules);
    for (bench::LayerCase &c : cases) {
        c.dtype = type;
        require_ok(bench::check_layer(c)); // before anything takes time
    }
    bench::Settings settings = settings_of(options);
    Progress progress;
    progress.show("measuring the peak and the read bandwidth");
    bench::FmaPeak peak(settings.threads, type);
    bench::Bandwidth reading = bench::read_bandwidth(settings.threads);
    LayerReport report({settings.threads, type, peak, reading}, options.json);
    for (const bench::LayerCase &c : cases) {
        settings.report = [&](double fraction) {
            peak.sample(), reading.sample();
            progress.show(fmt::format("{} {:.0f} %", c.name, 100 * fraction));
        };
        const Result<bench::CaseResult> result = bench::measure_layer(c, settings);
        progress.show("");
        require_ok(result.status());
        report.add(c, result.value());
    }
    report.finish();
}

void run_bench(const BenchOptions &options) {
    if (options.device == "cuda") return run_on_gpu(options);
    if (options.rows) return run_rows(options);
    if (options.layers || bench::find_layer_case(options.case_name)) return run_layers(options);
    const attune_type type = parse_dtype(options.dtype);
    std::vector<bench::Case> cases = chosen_cases(options);
    for (bench::Case &c : cases)
        c.dtype = type;
    bench::Settings settings = settings_of(options);
    const auto in_turn = [&](const bench::Case &c) {
        return options.masks ? std::vector<bench::Case>{c, bench::unmasked_case(c)} : std::vector<bench::Case>{c};
    };
    for (const bench::Case &c : cases)
        require_ok(bench::check(in_turn(c), settings)); // before anything takes time
    Progress progress;
    progress.show("measuring the peak and the read bandwidth");
    bench::FmaPeak peak(settings.threads, type);
    bench::Bandwidth reading = bench::read_bandwidth(settings.threads);
    BenchReport report({settings.threads, type, peak, reading}, options.json, options.masks);
    std::vector<std::vector<double>> seconds(settings.schedules.size());
    std::vector<std::string> names(settings.schedules.size()); // of those that ran last
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::string title = fmt::format("[{}/{}] {}", i + 1, cases.size(), cases[i].name);
        progress.show(title);
        settings.report = [&](double fraction) {
            peak.sample(), reading.sample();
            progress.show(fmt::format("{} {:.0f} %", title, 100 * fraction));
        };
        const Result<std::vector<bench::CaseResult>> results = bench::measure(in_turn(cases[i]), settings);
        progress.show("");
        require_ok(results.status());
        report.add(cases[i], results.value());
        for (std::size_t s = 0; s < settings.schedules.size(); ++s) {
            const bench::Measurement &m = results->front().schedules[s];
            seconds[s].push_back(m.seconds), names[s] = m.schedule;
        }
    }
    report.finish();
    for (std::size_t s = 0; options.scaling && s < settings.schedules.size(); ++s)
        report.add_exponent(names[s], fitted_exponent(cases, seconds[s]));
}

} // namespace

void add_bench(CLI::App &parent) {
    CLI::App *app = parent.add_subcommand("bench", "Time schedules: rate, share of what the machine can do, error against float64");
    const auto options = std::make_shared<BenchOptions>();
    CLI::Option *name = add_text(*app, "--case", options->case_name, "One named case; all of them by default");
    CLI::Option *shape = add_text(*app, "--shape", options->shape, "B,Hq,Hkv,N,M,D[,Dv] instead of a named case");
    shape->excludes(name);
    add_text(*app, "--mask", options->mask, "Mask as text, instead of the case's own");
    CLI::Option *masks = app->add_flag("--masks", options->masks,
                                       "Every kind of mask at 4096 tokens, each in turn with no mask, instead of the named cases");
    CLI::Option *scaling =
        app->add_flag("--scaling", options->scaling, "A window of 256 over 4096 to 65536 tokens, and the exponent of its time");
    CLI::Option *rows =
        app->add_flag("--rows", options->rows, "Softmax, norms and rotary embedding, instead of attention: shares of copying");
    CLI::Option *layers = app->add_flag("--layers", options->layers, "Linear layers and encoder blocks, instead of attention");
    for (CLI::Option *instead : {masks, scaling, rows, layers}) {
        instead->disable_flag_override()->excludes(name)->excludes(shape);
        for (CLI::Option *other : {masks, scaling, rows, layers})
            if (other != instead) instead->excludes(other);
    }
    add_text(*app, "--dtype", options->dtype, "Type of the tensors: f32, f16 or bf16");
    add_text(*app, "--schedule", options->schedules,
             "Schedules to time in turn, with commas between them; by default the one that Attune chooses for the case");
    add_integer(*app, "--threads", options->threads, 1, max_threads, "Threads; 1 by default");
    add_double(*app, "--seconds", options->seconds, positive, "Seconds of timing for each case and schedule; 0.5 by default");
    add_integer(*app, "--turns", options->turns, 1, max_turns,
                "Turns that each schedule gets at least, however long its calls are; 3 by default");
    app->add_flag("--json", options->json, "Print one JSON object a line")->disable_flag_override();
    add_device(*app, options->device,
               "cpu, the default, or cuda: attention, or with --rows softmax and rotary embedding, on an NVIDIA GPU, by CUDA events");
    app->callback([options] { run_bench(*options); });
}

} // namespace attune::tools
