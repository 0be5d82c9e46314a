#include "bench/layers.h"

#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "bench/machine.h"
#include "bench/timed_layer.h"

namespace attune::bench {
namespace {

/** What a layer holds at most, with `copies` of its weights packed. */
double bytes_of(const LayerCase &c, int64_t copies) {
    const double values = c.weight_bytes() / double(attune_type_size(c.dtype)) * sizeof(float);
    return double(copies + 1) * c.weight_bytes() + values + 2 * double(c.rows * (c.inputs + c.outputs)) * sizeof(float);
}

} // namespace

double LayerCase::flops() const {
    const double attention = kind == encoder_block ? 4.0 * double(rows) * double(rows) * double(inputs) : 0;
    return 2.0 * double(rows) * weight_bytes() / double(attune_type_size(dtype)) + attention;
}

double LayerCase::weight_bytes() const {
    const int64_t count = kind == encoder_block ? inputs * (4 * inputs + 2 * outputs) : inputs * outputs;
    return double(count) * double(attune_type_size(dtype));
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

/** A layer by one schedule, and what has come of it. */
struct LayerContender {
    std::unique_ptr<TimedLayer> layer;
    Measurement result;
};

/** With one call made and checked. */
Result<LayerContender> make_contender(const LayerCase &c, const std::string &schedule, int64_t copies, Call &call) {
    Result<std::unique_ptr<TimedLayer>> layer =
        c.kind == LayerCase::linear ? make_timed_linear(c, schedule, copies) : make_timed_encoder(c);
    if (!layer) return layer.status();
    (*layer)->spoil_output();
    if (Status status = (*layer)->run(0, call); !status) return status;
    const Measurement result = {(*layer)->schedule(), std::numeric_limits<double>::infinity(), (*layer)->max_error(),
                                static_cast<int64_t>(call.workspace_bytes)};
    return LayerContender{std::move(*layer), result};
}

} // namespace

Result<CaseResult> measure_layer(const LayerCase &c, const Settings &settings) {
    if (const Status status = check_layer(c); !status) return status;
    const double held = c.weight_bytes() * double(settings.schedules.size());
    const Rotation rotation = c.memory_bound() ? rotation_over(c.weight_bytes(), held) : Rotation();
    Call call(settings.threads);
    std::vector<LayerContender> contenders;
    for (const std::string &schedule : settings.schedules) {
        Result<LayerContender> contender = make_contender(c, schedule, rotation.copies, call);
        if (!contender) return contender.status();
        contenders.push_back(std::move(*contender));
    }
    const auto round = [&](std::size_t i) {
        LayerContender &contender = contenders[i];
        return time_round(rotation.copies, contender.result.seconds, [&](int64_t copy) { return contender.layer->run(copy, call); });
    };
    if (Status status = take_turns(settings, contenders.size(), round); !status) return status;
    CaseResult result{{}, rotation.copies, rotation.capped};
    for (const LayerContender &contender : contenders)
        result.schedules.push_back(contender.result);
    return result;
}

} // namespace attune::bench
