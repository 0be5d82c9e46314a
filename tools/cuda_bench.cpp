#include "cuda_bench.h"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/rows.h"
#include "cuda_measure.h"
#include "error.h"
#include "table.h"

namespace attune::tools {
namespace {

std::vector<bench::Case> usual_cases() {
    constexpr int64_t tokens_in_all = 16384, heads = 16;
    std::vector<bench::Case> cases;
    for (const char *mask : {"none", "causal"})
        for (int64_t dim : {64, 128})
            for (int64_t tokens = 512; tokens <= tokens_in_all; tokens *= 2) {
                cases.push_back({"prefill", tokens_in_all / tokens, heads, heads, tokens, tokens, dim, dim, mask});
                cases.back().counts_half = cases.back().mask == "causal";
            }
    for (int64_t keys : {4096, 32768})
        for (int64_t batch : {1, 4, 16, 64})
            cases.push_back({"decode", batch, 32, 8, 1, keys, 128, 128});
    return cases;
}

struct Timing {
    std::string kernel, schedule;
    double seconds;
};

/** Copies of K and V, read in turn: as many as outgrow the cache where reading them is what takes the time. */
int64_t copies_of(const bench::Case &c, const CudaMeasure &measure) {
    if (!c.memory_bound()) return 1;
    return std::max<int64_t>(1, measure.uncached_bytes() / static_cast<int64_t>(c.kv_bytes()));
}

Timing time_case(const bench::Case &c, const std::string &schedule, const CudaMeasure &measure) {
    AttentionDesc desc;
    desc.dtype = c.dtype, desc.head_dim = c.head_dim, desc.mask = c.mask, desc.schedule = schedule, desc.device = ATTUNE_CUDA;
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    require_ok(plan.status());
    GpuTensors tensors(measure.gpu());
    const Shape keys = {c.batch, c.kv_heads, c.keys, c.head_dim}, queries = {c.batch, c.query_heads, c.queries, c.head_dim};
    const TensorView q = tensors.random(c.dtype, queries), out = tensors.empty(c.dtype, queries);
    std::vector<std::array<TensorView, 2>> kv;
    for (int64_t copy = 0; copy < copies_of(c, measure); ++copy)
        kv.push_back({tensors.random(c.dtype, keys), tensors.random(c.dtype, keys)});
    size_t next = 0;
    const double seconds = measure.median_seconds([&] {
        const auto &[k, v] = kv[next++ % kv.size()];
        require_ok(plan->run(AttentionArgs(q, k, v, out)));
    });
    const attune_kernel &kernel = *plan->kernel_for(c.queries, c.query_heads, c.kv_heads, c.keys);
    return {kernel.name, kernel.schedule, seconds};
}

/** What a GPU has no room for is left out, and said. */
bool fits(const bench::Case &c, const CudaMeasure &measure) {
    const double bytes = c.tensor_bytes() + double(copies_of(c, measure) - 1) * c.kv_bytes(), left = double(measure.gpu().free_bytes());
    if (bytes <= left) return true;
    fmt::print(stderr, "attune: left out: B {}, M {}, which takes {:.1f} GB of the {:.1f} GB that are free\n", c.batch, c.keys,
               bytes * 1e-9, left * 1e-9);
    return false;
}

/** A line of JSON at once, or a row of a table at the end. */
class CudaReport {
public:
    CudaReport(const CudaMeasure &measure, bool json, std::vector<std::string> heading, std::vector<Align> align)
        : measure_(measure), json_(json), table_{std::move(heading), std::move(align), {}} {
        if (json_) print(measure_.facts());
    }
    void add(const nlohmann::ordered_json &line, std::vector<std::string> row) {
        if (json_) return print(line);
        table_.rows.push_back(std::move(row));
    }
    void finish() const {
        if (json_) return;
        table_.print();
        fmt::print("\n{}, which copies {:.1f} GB/s, read and written together; medians over batches of runs, by CUDA events.\n",
                   cuda_device_name(), measure_.copy_gbps());
    }

private:
    static void print(const nlohmann::ordered_json &line) {
        fmt::print("{}\n", line.dump());
        std::fflush(stdout);
    }

    const CudaMeasure &measure_;
    bool json_;
    Table table_;
};

void add_timing(CudaReport &report, const bench::Case &c, const Timing &timing) {
    const double tflops = bench::useful_flops(c) / timing.seconds / 1e12, gbps = c.kv_bytes() / timing.seconds * 1e-9;
    const nlohmann::ordered_json line = {{"kernel", timing.kernel},
                                         {"schedule", timing.schedule},
                                         {"dtype", attune_type_name(c.dtype)},
                                         {"mask", c.mask},
                                         {"shape", {c.batch, c.query_heads, c.kv_heads, c.queries, c.keys, c.head_dim}},
                                         {"seconds", timing.seconds},
                                         {"tflops", tflops},
                                         {"kv_gbps", gbps}};
    const auto number = [](auto value) { return fmt::format("{}", value); };
    report.add(line, {c.mask, attune_type_name(c.dtype), number(c.batch), number(c.query_heads), number(c.kv_heads), number(c.queries),
                      number(c.keys), number(c.head_dim), timing.schedule, fmt::format("{:.1f}", timing.seconds * 1e6),
                      fmt::format("{:.1f}", tflops), fmt::format("{:.1f}", gbps)});
}

double time_rows(const bench::RowCase &c, const CudaMeasure &measure) {
    GpuTensors tensors(measure.gpu());
    const TensorView x = tensors.random(c.dtype, {c.heads, c.rows, c.columns}), y = tensors.empty(c.dtype, {c.heads, c.rows, c.columns});
    Call call;
    return measure.median_seconds([&] { require_ok(bench::run_rows(c, "", x, y, call)); });
}

} // namespace

void run_cuda_bench(const CudaBenchOptions &options) {
    const CudaMeasure measure(options.seconds);
    CudaReport report(measure, options.json, {"mask", "type", "B", "Hq", "Hkv", "N", "M", "D", "schedule", "us", "TFLOP/s", "K+V GB/s"},
                      {Align::left, Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right,
                       Align::left, Align::right, Align::right, Align::right});
    for (bench::Case c : options.cases.empty() ? usual_cases() : options.cases) {
        c.dtype = options.type;
        if (!fits(c, measure)) continue;
        for (const std::string &schedule : options.schedules)
            add_timing(report, c, time_case(c, schedule, measure));
    }
    report.finish();
}

void run_cuda_rows(const CudaBenchOptions &options) {
    const CudaMeasure measure(options.seconds);
    CudaReport report(measure, options.json, {"case", "rows", "us", "GB/s", "share of copying"},
                      {Align::left, Align::right, Align::right, Align::right, Align::right});
    std::vector<bench::RowCase> cases = bench::row_cases();
    const std::vector<bench::RowCase> lengths = bench::softmax_lengths();
    cases.insert(cases.end(), lengths.begin(), lengths.end());
    for (bench::RowCase &c : cases) {
        if (!bench::linked_kernel(c, ATTUNE_CUDA)) continue;
        c.rows = std::max<int64_t>(1, measure.uncached_bytes() / (c.heads * c.columns * element_bytes(c.dtype)));
        const double seconds = time_rows(c, measure), gbps = c.bytes() / seconds * 1e-9;
        report.add(
            {{"case", c.name}, {"dtype", attune_type_name(c.dtype)}, {"rows", c.heads * c.rows}, {"seconds", seconds}, {"gbps", gbps}},
            {c.name, fmt::format("{}", c.heads * c.rows), fmt::format("{:.1f}", seconds * 1e6), fmt::format("{:.1f}", gbps),
             fmt::format("{:.1f} %", 100 * gbps / measure.copy_gbps())});
    }
    report.finish();
}

} // namespace attune::tools
