#include "bench_report.h"

#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "attune/attune.h"
#include "bench/half.h"

namespace attune::tools {
namespace {

double gflops(const bench::Case &c, const bench::Measurement &m) { return bench::useful_flops(c) / m.seconds * 1e-9; }
double kv_gbps(const bench::Case &c, const bench::Measurement &m) { return c.kv_bytes() / m.seconds * 1e-9; }

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

} // namespace

BenchReport::BenchReport(int32_t threads, attune_type type, const bench::FmaPeak &peak, double read_gbps, bool json)
    : threads_(threads), type_(type), peak_(peak), read_gbps_(read_gbps),
      json_(json), table_{{"case", "schedule", "ms", "GFLOP/s", "K+V GB/s", "share", "max error", "workspace"},
                          {Align::left, Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right},
                          {}} {
    if (json_) return;
    fmt::print("{}, {} thread{}, {}: FMA peak {:.1f} GFLOP/s, read bandwidth {:.1f} GB/s, last-level cache {}\n\n",
               bench::name_of_type(type), threads, threads == 1 ? "" : "s", attune_cpu_class(), peak.gflops(), read_gbps,
               bytes_text(bench::last_level_cache_bytes()));
    std::fflush(stdout);
}

/** Against the limit that counts for the case: memory's or arithmetic's. */
std::string BenchReport::share(const bench::Case &c, const bench::Measurement &m) const {
    if (!c.memory_bound()) return fmt::format("{:.1f} % of FMA", 100 * gflops(c, m) / peak_.gflops());
    return read_gbps_ > 0 ? fmt::format("{:.1f} % of read", 100 * kv_gbps(c, m) / read_gbps_) : "unknown";
}

void BenchReport::add(const bench::Case &c, const bench::CaseResult &result) {
    if (result.capped)
        fmt::print(stderr, "attune: {} rotates over {} of K and V, as memory allows, not four times the last-level cache\n", c.name,
                   bytes_text(static_cast<int64_t>(c.kv_bytes()) * result.copies));
    for (const bench::Measurement &m : result.schedules)
        json_ ? print_json(c, m) : add_row(c, m);
}

void BenchReport::finish() const {
    if (!json_) table_.print();
}

void BenchReport::add_exponent(const std::string &schedule, double exponent) const {
    if (json_) {
        fmt::print("{}\n", nlohmann::ordered_json{{"schedule", schedule}, {"scaling_exponent", rounded(exponent)}}.dump());
    } else {
        fmt::print("\n{}: time grows as tokens^{:.3f}\n", schedule, exponent);
    }
}

void BenchReport::add_row(const bench::Case &c, const bench::Measurement &m) {
    table_.rows.push_back({c.name, m.schedule, fmt::format("{:.4g}", m.seconds * 1e3), fmt::format("{:.1f}", gflops(c, m)),
                           fmt::format("{:.2f}", kv_gbps(c, m)), share(c, m), fmt::format("{:.1e}", m.max_error),
                           bytes_text(m.workspace_bytes)});
}

void BenchReport::print_json(const bench::Case &c, const bench::Measurement &m) const {
    const nlohmann::ordered_json line = {{"case", c.name},
                                         {"schedule", m.schedule},
                                         {"dtype", bench::name_of_type(type_)},
                                         {"threads", threads_},
                                         {"ms", rounded(m.seconds * 1e3)},
                                         {"gflops", rounded(gflops(c, m))},
                                         {"kv_gbps", rounded(kv_gbps(c, m))},
                                         {"peak_gflops", rounded(peak_.gflops())},
                                         {"read_gbps", rounded(read_gbps_)},
                                         {"max_error", rounded(m.max_error)},
                                         {"workspace_bytes", m.workspace_bytes}};
    fmt::print("{}\n", line.dump());
    std::fflush(stdout); // a line as soon as there is one, in a pipe too
}

RowReport::RowReport(int32_t threads, double copy_gbps, bool json)
    : threads_(threads), copy_gbps_(copy_gbps),
      json_(json), table_{{"case", "schedule", "ms", "GB/s", "share", "max error"},
                          {Align::left, Align::left, Align::right, Align::right, Align::right, Align::right},
                          {}} {
    if (json_) return;
    fmt::print("f32, {} thread{}, {}: copies {:.1f} GB/s, read and written together, last-level cache {}\n\n", threads,
               threads == 1 ? "" : "s", attune_cpu_class(), copy_gbps, bytes_text(bench::last_level_cache_bytes()));
    std::fflush(stdout);
}

void RowReport::add(const bench::RowCase &c, const bench::CaseResult &result) {
    if (result.capped)
        fmt::print(stderr, "attune: {} rotates over {} of input, as memory allows, not four times the last-level cache\n", c.name,
                   bytes_text(static_cast<int64_t>(c.bytes() / 2) * result.copies));
    for (const bench::Measurement &m : result.schedules) {
        const double gbps = c.bytes() / m.seconds * 1e-9;
        if (json_) {
            const nlohmann::ordered_json line = {{"case", c.name},
                                                 {"schedule", m.schedule},
                                                 {"dtype", "f32"},
                                                 {"threads", threads_},
                                                 {"ms", rounded(m.seconds * 1e3)},
                                                 {"gbps", rounded(gbps)},
                                                 {"copy_gbps", rounded(copy_gbps_)},
                                                 {"max_error", rounded(m.max_error)}};
            fmt::print("{}\n", line.dump());
            std::fflush(stdout);
            continue;
        }
        const std::string share = copy_gbps_ > 0 ? fmt::format("{:.1f} % of copying", 100 * gbps / copy_gbps_) : "unknown";
        table_.rows.push_back({c.name, m.schedule, fmt::format("{:.4g}", m.seconds * 1e3), fmt::format("{:.2f}", gbps), share,
                               fmt::format("{:.1e}", m.max_error)});
    }
}

void RowReport::finish() const {
    if (!json_) table_.print();
}

} // namespace attune::tools
