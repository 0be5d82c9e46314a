#include "bench_report.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/attune.h"

namespace attune::tools {
namespace {

/** `value` to four significant digits: later ones are noise. */
double rounded(double value) {
    if (value == 0 || !std::isfinite(value)) return value;
    const double unit = std::pow(10, std::floor(std::log10(std::fabs(value))) - 3);
    return unit >= 1 ? std::round(value / unit) * unit : std::round(value / unit) / std::round(1 / unit);
}

/** Bytes with a unit: "1.5 MiB". */
std::string bytes_text(int64_t bytes) {
    if (bytes < 1024) return fmt::format("{} B", bytes);
    const double kib = double(bytes) / 1024;
    return kib < 1024 ? fmt::format("{:.1f} KiB", kib) : fmt::format("{:.1f} MiB", kib / 1024);
}

std::string ms_text(const bench::Measurement &m) { return fmt::format("{:.4g}", m.seconds * 1e3); }
std::string error_text(const bench::Measurement &m) { return fmt::format("{:.1e}", m.max_error); }

std::string share_of(double rate, double limit, const char *of) {
    return limit > 0 ? fmt::format("{:.1f} % of {}", 100 * rate / limit, of) : "unknown";
}

void warn_if_capped(const std::string &name, const bench::CaseResult &result, double bytes, const char *of) {
    if (result.capped)
        fmt::print(stderr, "attune: {} rotates over {} of {}, as memory allows, not four times the last-level cache\n", name,
                   bytes_text(static_cast<int64_t>(bytes) * result.copies), of);
}

} // namespace

Results::Results(bool json, std::vector<std::string> header, std::vector<Align> align)
    : json_(json), table_{std::move(header), std::move(align), {}} {}

void Results::title(const std::string &text) const {
    if (json_) return;
    fmt::print("{}\n\n", text);
    std::fflush(stdout);
}

void Results::add(const nlohmann::ordered_json &line, std::vector<std::string> row) {
    if (!json_) return table_.rows.push_back(std::move(row));
    fmt::print("{}\n", line.dump());
    std::fflush(stdout); // a line as soon as there is one, in a pipe too
}

void Results::finish() const {
    if (!json_) table_.print();
}

std::string Limits::title() const {
    return fmt::format("{}, {} thread{}, {}: peak {:.1f} GFLOP/s, read bandwidth {:.1f} GB/s, last-level cache {}", attune_type_name(type),
                       threads, threads == 1 ? "" : "s", attune_cpu_class(), peak.gflops(), reading.gbps(),
                       bytes_text(bench::last_level_cache_bytes()));
}

std::string Limits::share(bool memory_bound, double gflops, double gbps) const {
    return memory_bound ? share_of(gbps, reading.gbps(), "read") : share_of(gflops, peak.gflops(), "peak");
}

nlohmann::ordered_json Limits::line(const std::string &name, const bench::Measurement &m, double gflops, const char *rate,
                                    double gbps) const {
    return {{"case", name},
            {"schedule", m.schedule},
            {"dtype", attune_type_name(type)},
            {"threads", threads},
            {"ms", rounded(m.seconds * 1e3)},
            {"gflops", rounded(gflops)},
            {rate, rounded(gbps)},
            {"peak_gflops", rounded(peak.gflops())},
            {"read_gbps", rounded(reading.gbps())},
            {"max_error", rounded(m.max_error)}};
}

namespace {

std::vector<std::string> columns(bool beside_unmasked) {
    std::vector<std::string> names = {"case", "schedule", "ms", "GFLOP/s", "K+V GB/s", "share", "max error", "workspace"};
    if (beside_unmasked) names.push_back("of unmasked");
    return names;
}

std::vector<Align> alignments(std::size_t columns) {
    std::vector<Align> align(columns, Align::right);
    align[0] = align[1] = Align::left;
    return align;
}

} // namespace

BenchReport::BenchReport(const Limits &limits, bool json, bool beside_unmasked)
    : limits_(limits), beside_unmasked_(beside_unmasked),
      results_(json, columns(beside_unmasked), alignments(columns(beside_unmasked).size())) {
    results_.title(limits_.title());
}

void BenchReport::add(const bench::Case &c, const std::vector<bench::CaseResult> &results) {
    warn_if_capped(c.name, results.front(), c.kv_bytes(), "K and V");
    const double flops = bench::useful_flops(c), unmasked_flops = bench::useful_flops(bench::unmasked_case(c));
    for (std::size_t i = 0; i < results.front().schedules.size(); ++i) {
        const bench::Measurement &m = results.front().schedules[i];
        const double gflops = flops / m.seconds * 1e-9, gbps = c.kv_bytes() / m.seconds * 1e-9;
        nlohmann::ordered_json line = limits_.line(c.name, m, gflops, "kv_gbps", gbps);
        line["workspace_bytes"] = m.workspace_bytes;
        std::vector<std::string> row = {c.name,
                                        m.schedule,
                                        ms_text(m),
                                        fmt::format("{:.1f}", gflops),
                                        fmt::format("{:.2f}", gbps),
                                        limits_.share(c.memory_bound(), gflops, gbps),
                                        error_text(m),
                                        bytes_text(m.workspace_bytes)};
        if (beside_unmasked_) {
            const double share = flops / unmasked_flops * results.back().schedules[i].seconds / m.seconds;
            line["share_of_unmasked"] = rounded(share);
            row.push_back(fmt::format("{:.1f} %", 100 * share));
        }
        results_.add(line, std::move(row));
    }
}

void BenchReport::add_exponent(const std::string &schedule, double exponent) const {
    if (results_.json()) {
        fmt::print("{}\n", nlohmann::ordered_json{{"schedule", schedule}, {"scaling_exponent", rounded(exponent)}}.dump());
    } else {
        fmt::print("\n{}: time grows as tokens^{:.3f}\n", schedule, exponent);
    }
}

LayerReport::LayerReport(const Limits &limits, bool json)
    : limits_(limits), results_(json, {"case", "schedule", "ms", "GFLOP/s", "weights GB/s", "share", "max error"},
                                {Align::left, Align::left, Align::right, Align::right, Align::right, Align::right, Align::right}) {
    results_.title(limits_.title());
}

void LayerReport::add(const bench::LayerCase &c, const bench::CaseResult &result) {
    warn_if_capped(c.name, result, c.weight_bytes(), "weights");
    for (const bench::Measurement &m : result.schedules) {
        const double gflops = c.flops() / m.seconds * 1e-9, gbps = c.weight_bytes() / m.seconds * 1e-9;
        results_.add(limits_.line(c.name, m, gflops, "weight_gbps", gbps),
                     {c.name, m.schedule, ms_text(m), fmt::format("{:.1f}", gflops), fmt::format("{:.2f}", gbps),
                      limits_.share(c.memory_bound(), gflops, gbps), error_text(m)});
    }
}

RowReport::RowReport(int32_t threads, const bench::Bandwidth &copying, bool json)
    : threads_(threads), copying_(copying), results_(json, {"case", "schedule", "ms", "GB/s", "share", "max error"},
                                                     {Align::left, Align::left, Align::right, Align::right, Align::right, Align::right}) {
    results_.title(fmt::format("{} thread{}, {}: copies {:.1f} GB/s, read and written together, last-level cache {}", threads,
                               threads == 1 ? "" : "s", attune_cpu_class(), copying.gbps(), bytes_text(bench::last_level_cache_bytes())));
}

void RowReport::add(const bench::RowCase &c, const bench::CaseResult &result) {
    warn_if_capped(c.name, result, c.bytes() / 2, "input");
    for (const bench::Measurement &m : result.schedules) {
        const double gbps = c.bytes() / m.seconds * 1e-9;
        results_.add(
            {{"case", c.name},
             {"schedule", m.schedule},
             {"dtype", attune_type_name(c.dtype)},
             {"threads", threads_},
             {"ms", rounded(m.seconds * 1e3)},
             {"gbps", rounded(gbps)},
             {"copy_gbps", rounded(copying_.gbps())},
             {"max_error", rounded(m.max_error)}},
            {c.name, m.schedule, ms_text(m), fmt::format("{:.2f}", gbps), share_of(gbps, copying_.gbps(), "copying"), error_text(m)});
    }
}

} // namespace attune::tools
