#include "bench/layers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "bench/half.h"
#include "bench/machine.h"
#include "bench/threads.h"
#include "bench/timed_layer.h"

namespace attune::bench {
namespace {

/** What a layer holds at most, with `copies` of its weights packed. */
double bytes_of(const LayerCase &c, int64_t copies) {
    const double values = c.weight_bytes() / double(element_bytes(c.dtype)) * sizeof(float);
    return double(copies + 1) * c.weight_bytes() + values + 2 * double(c.rows * (c.inputs + c.outputs)) * sizeof(float);
}

} // namespace

double LayerCase::flops() const {
    const double attention = kind == encoder_block ? 4.0 * double(rows) * double(rows) * double(inputs) : 0;
    return 2.0 * double(rows) * weight_bytes() / double(element_bytes(dtype)) + attention;
}

double LayerCase::weight_bytes() const {
    const int64_t count = kind == encoder_block ? inputs * (4 * inputs + 2 * outputs) : inputs * outputs;
    return double(count * element_bytes(dtype));
}

const std::vector<LayerCase> &layer_cases() {
    static const std::vector<LayerCase> cases = {
        {"linear_512", LayerCase::linear, 512, 512, 512},
        {"linear_768_to_3072", LayerCase::linear, 512, 3072, 768},
        {"linear_1024", LayerCase::linear, 1024, 1024, 1024},
        {"linear_2048", LayerCase::linear, 2048, 2048, 2048},
        {"linear_4096", LayerCase::linear, 4096, 4096, 4096},
        {"linear_of_1_row", LayerCase::linear, 1, 4096, 4096},
        {"linear_of_2_rows", LayerCase::linear, 2, 4096, 4096},
        {"linear_of_4_rows", LayerCase::linear, 4, 4096, 4096},
        {"linear_of_8_rows", LayerCase::linear, 8, 4096, 4096},
        {"bert_block_128", LayerCase::encoder_block, 128, 3072, 768},
        {"bert_block_512", LayerCase::encoder_block, 512, 3072, 768},
    };
    return cases;
}

std::optional<LayerCase> find_layer_case(const std::string &name) {
    for (const LayerCase &c : layer_cases())
        if (c.name == name) return c;
    return std::nullopt;
}

Status check_layer(const LayerCase &c) {
    const double bytes = bytes_of(c, 1), available = double(available_memory_bytes());
    if (bytes <= available) return {};
    return {ATTUNE_OUT_OF_MEMORY,
            fmt::format("{} takes {:.1f} GB; {:.1f} GB of memory are available", c.name, bytes * 1e-9, available * 1e-9)};
}

namespace {

/** Times calls of a layer, each of its copies in turn. */
Result<Measurement> measure(TimedLayer &layer, const Settings &settings) {
    Call call(settings.threads);
    layer.spoil_output();
    if (Status status = layer.run(0, call); !status) return status;
    Measurement result{layer.schedule(), std::numeric_limits<double>::infinity(), layer.max_error(), 0};
    const auto round = [&](std::size_t) -> Status {
        const double begin = now();
        for (int64_t copy = 0; copy < layer.copies(); ++copy)
            if (Status status = layer.run(copy, call); !status) return status;
        result.seconds = std::min(result.seconds, (now() - begin) / double(layer.copies()));
        result.workspace_bytes = std::max(result.workspace_bytes, static_cast<int64_t>(call.workspace_bytes));
        return {};
    };
    if (Status status = take_turns(settings, 1, round); !status) return status;
    return result;
}

} // namespace

Result<CaseResult> measure_layer(const LayerCase &c, const Settings &settings) {
    if (const Status status = check_layer(c); !status) return status;
    CaseResult result;
    if (c.memory_bound()) {
        const auto wanted = static_cast<int64_t>(std::ceil(4.0 * double(last_level_cache_bytes()) / c.weight_bytes()));
        const auto fitting = static_cast<int64_t>(0.5 * double(available_memory_bytes()) / c.weight_bytes());
        result.copies = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(fitting, 1)), result.capped = result.copies < wanted;
    }
    for (const std::string &schedule : settings.schedules) {
        const bool linear = c.kind == LayerCase::linear;
        Result<std::unique_ptr<TimedLayer>> layer = linear ? make_timed_linear(c, schedule, result.copies) : make_timed_encoder(c);
        if (!layer) return layer.status();
        Result<Measurement> measured = measure(**layer, settings);
        if (!measured) return measured.status();
        result.schedules.push_back(*measured);
    }
    return result;
}

} // namespace attune::bench
