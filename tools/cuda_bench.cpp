#include "cuda_bench.h"

#include <algorithm>
#include <random>

#include <nlohmann/json.hpp>

#include "array.h"
#include "device.h"
#include "error.h"
#include "gpu.h"
#include "table.h"

namespace attune::tools {
namespace {

constexpr int warm_up = 3, least_batches = 5;
constexpr double batch_seconds = 0.02; // long beside an event's resolution of half a microsecond

std::vector<CudaCase> usual_cases() {
    constexpr int64_t tokens_in_all = 16384, heads = 16;
    std::vector<CudaCase> cases;
    for (const char *mask : {"none", "causal"})
        for (int64_t dim : {64, 128})
            for (int64_t tokens = 512; tokens <= tokens_in_all; tokens *= 2)
                cases.push_back({tokens_in_all / tokens, heads, heads, tokens, tokens, dim, mask});
    return cases;
}

/** Values of about unit size in every type: exponents below 1 with random signs and fractions. */
Array random_array(attune_type type, const Shape &shape) {
    Array array = make_array(type, shape, "the case");
    std::mt19937 random(7);
    if (type == ATTUNE_F32) {
        std::uniform_real_distribution<float> uniform(-1, 1);
        std::generate_n(array.as<float>(), array.bytes / 4, [&] { return uniform(random); });
        return array;
    }
    const uint32_t one = type == ATTUNE_BF16 ? 0x3f00 : 0x3800, fraction = type == ATTUNE_BF16 ? 0x7f : 0x3ff; // 0.5 to 1
    std::generate_n(array.as<uint16_t>(), array.bytes / 2, [&] {
        const uint32_t bits = random();
        return static_cast<uint16_t>((bits & 0x80000000) >> 16 | one | (bits & fraction));
    });
    return array;
}

/** Multiply-adds count as two; a causal mask leaves half of the cells. */
double operations(const CudaCase &c) {
    const double cells = double(c.batch) * double(c.heads) * double(c.queries) * double(c.keys);
    return 4 * cells * double(c.dim) * (c.mask == "causal" && c.queries == c.keys ? 0.5 : 1.0);
}

/** The median over batches of runs of one run's seconds. */
template <typename Run> double median_seconds(const GpuTimer &timer, double seconds, const Run &run) {
    for (int i = 0; i < warm_up; ++i)
        run();
    const double once = timer.seconds(run);
    const int runs = static_cast<int>(std::clamp(batch_seconds / std::max(once, 1e-7), 1.0, 1000.0));
    std::vector<double> samples;
    for (double spent = 0; spent < seconds || samples.size() < least_batches;) {
        samples.push_back(timer.seconds([&] {
            for (int i = 0; i < runs; ++i)
                run();
        }));
        spent += samples.back();
        samples.back() /= runs;
    }
    std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end());
    return samples[samples.size() / 2];
}

struct Timing {
    std::string kernel, schedule;
    double seconds;
};

Timing time_case(const CudaCase &c, const std::string &schedule, const CudaBenchOptions &options, const GpuTimer &timer) {
    AttentionDesc desc;
    desc.dtype = options.type, desc.head_dim = c.dim, desc.mask = c.mask, desc.schedule = schedule, desc.device = ATTUNE_CUDA;
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    require_ok(plan.status());
    DeviceTensors tensors("cuda");
    const Array q = random_array(options.type, {c.batch, c.heads, c.queries, c.dim});
    const Array kv = random_array(options.type, {c.batch, c.kv_heads, c.keys, c.dim});
    const AttentionArgs args(tensors.input(view(q)), tensors.input(view(kv)), tensors.input(view(kv)), tensors.output(view(q)));
    const double seconds = median_seconds(timer, options.seconds, [&] { require_ok(plan->run(args)); });
    const attune_kernel &kernel = *plan->kernel_for(c.queries, c.heads, c.kv_heads, c.keys);
    return {kernel.name, kernel.schedule, seconds};
}

const char *type_name(attune_type type) { return type == ATTUNE_BF16 ? "bf16" : type == ATTUNE_F16 ? "f16" : "f32"; }

void print_json(const CudaCase &c, const CudaBenchOptions &options, const Timing &timing) {
    const nlohmann::ordered_json row = {{"device", cuda_device_name()},
                                        {"kernel", timing.kernel},
                                        {"schedule", timing.schedule},
                                        {"dtype", type_name(options.type)},
                                        {"mask", c.mask},
                                        {"shape", {c.batch, c.heads, c.kv_heads, c.queries, c.keys, c.dim}},
                                        {"seconds", timing.seconds},
                                        {"tflops", operations(c) / timing.seconds / 1e12}};
    fmt::print("{}\n", row.dump());
}

} // namespace

void run_cuda_bench(const CudaBenchOptions &options) {
    const Gpu gpu;
    const GpuTimer timer;
    Table table{{"mask", "type", "B", "Hq", "Hkv", "N", "M", "D", "schedule", "us", "TFLOP/s"}, std::vector<Align>(11, Align::right), {}};
    table.align[0] = table.align[1] = table.align[8] = Align::left;
    for (const CudaCase &c : options.cases.empty() ? usual_cases() : options.cases)
        for (const std::string &schedule : options.schedules) {
            const Timing timing = time_case(c, schedule, options, timer);
            if (options.json) print_json(c, options, timing);
            const auto number = [](auto value) { return fmt::format("{}", value); };
            table.rows.push_back({c.mask, type_name(options.type), number(c.batch), number(c.heads), number(c.kv_heads), number(c.queries),
                                  number(c.keys), number(c.dim), timing.schedule, fmt::format("{:.1f}", timing.seconds * 1e6),
                                  fmt::format("{:.1f}", operations(c) / timing.seconds / 1e12)});
        }
    if (options.json) return;
    table.print();
    fmt::print("\n{}; the median over batches of runs, by CUDA events.\n", cuda_device_name());
}

} // namespace attune::tools
