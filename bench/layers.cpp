#include "bench/layers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "attune/layers.hpp"
#include "bench/elements.h"
#include "bench/half.h"
#include "bench/machine.h"
#include "bench/threads.h"

namespace attune::bench {
namespace {

constexpr int64_t heads = 12; // of a block

using Exact = std::vector<double>;

/** A tensor of the case's type, and the f32 values that it holds. */
struct Operand {
    Buffer values, data;
    attune_type type;
    std::vector<int64_t> extents;

    Operand(attune_type dtype, std::vector<int64_t> shape, float deviation, std::mt19937_64 &random) : type(dtype), extents(shape) {
        const int64_t count = std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
        values = normal(count, type, random, deviation);
        data = stored(values, type, count);
    }
    TensorView view() const { return attune_contiguous(data.get(), type, static_cast<int32_t>(extents.size()), extents.data()); }
    Exact row(int64_t i) const { return {values.get() + i * extents.back(), values.get() + (i + 1) * extents.back()}; }
    /** W x + b; b may be nullptr. */
    Exact times(const Exact &x, const Operand *bias = nullptr) const {
        Exact y(static_cast<std::size_t>(extents[0]));
        for (std::size_t i = 0; i < y.size(); ++i)
            y[i] = std::inner_product(x.begin(), x.end(), values.get() + static_cast<int64_t>(i) * extents[1],
                                      bias ? bias->values.get()[i] : 0.0);
        return y;
    }
};

/** What is timed: one layer, or equal ones by turns. */
class Layer {
public:
    virtual ~Layer() = default;
    virtual int64_t copies() const { return 1; }
    virtual Status run(int64_t copy, Call &call) = 0;
    virtual std::string schedule() const = 0;
    virtual Exact exact(int64_t row) const = 0;

    Layer(const LayerCase &layer, int64_t outputs, std::mt19937_64 &random)
        : c(layer), x(c.dtype, {c.rows, c.inputs}, 1, random), y(zeros(c.dtype, c.rows * outputs)), y_columns(outputs) {}

    TensorView output() const { return attune_contiguous(y.get(), c.dtype, 2, std::array<int64_t, 2>{c.rows, y_columns}.data()); }
    void spoil_output() const { spoil(y, c.dtype, c.rows * y_columns); }
    /** Of the first rows, the last, and some between. */
    double max_error() const {
        const int64_t checked = std::min<int64_t>(c.rows, 8);
        double largest = 0, error = 0;
        for (int64_t i = 0; i < checked; ++i) {
            const int64_t row = checked == 1 ? 0 : i * (c.rows - 1) / (checked - 1);
            const Exact want = exact(row);
            for (int64_t column = 0; column < y_columns; ++column) {
                const double value = want[static_cast<std::size_t>(column)];
                const double off = std::abs(element(y, c.dtype, row * y_columns + column) - value);
                largest = std::max(largest, std::abs(value));
                if (!(off <= error)) error = off; // NaN is an error too
            }
        }
        return error / largest;
    }

protected:
    const LayerCase &c;
    Operand x;
    Buffer y;
    int64_t y_columns;
};

float deviation_of(int64_t inputs) { return 1 / std::sqrt(static_cast<float>(inputs)); }

class LinearLayer : public Layer {
public:
    LinearLayer(const LayerCase &layer, std::mt19937_64 &random)
        : Layer(layer, layer.outputs, random), weight_(c.dtype, {c.outputs, c.inputs}, deviation_of(c.inputs), random),
          bias_(c.dtype, {c.outputs}, 1, random) {}

    Status prepare(const std::string &schedule, int64_t copies) {
        const TensorView bias = bias_.view();
        LinearDesc desc;
        desc.dtype = c.dtype, desc.weight = weight_.view(), desc.bias = &bias, desc.schedule = schedule;
        layers_.clear();
        for (int64_t copy = 0; copy < copies; ++copy) {
            Result<Linear> made = Linear::create(desc);
            if (!made) return made.status();
            layers_.push_back(std::move(*made));
        }
        return {};
    }
    int64_t copies() const override { return static_cast<int64_t>(layers_.size()); }
    Status run(int64_t copy, Call &call) override {
        return layers_[static_cast<std::size_t>(copy)].run(x.view(), output(), nullptr, &call);
    }
    std::string schedule() const override { return layers_[0].kernel_for(c.rows)->schedule; }
    Exact exact(int64_t row) const override { return weight_.times(x.row(row), &bias_); }

private:
    Operand weight_, bias_;
    std::vector<Linear> layers_;
};

/** Post-norm: Attention Is All You Need, section 3.1, with GELU, as BERT has it. */
class Encoder : public Layer {
public:
    Encoder(const LayerCase &layer, std::mt19937_64 &random)
        : Layer(layer, layer.inputs, random), up_(matrix(c.outputs, c.inputs, random)), down_(matrix(c.inputs, c.outputs, random)),
          up_bias_(ATTUNE_F32, {c.outputs}, 1, random), down_bias_(ATTUNE_F32, {c.inputs}, 1, random) {
        for (int i = 0; i < 4; ++i)
            projections_.push_back(matrix(c.inputs, c.inputs, random)), biases_.emplace_back(ATTUNE_F32, std::vector{c.inputs}, 1, random);
        for (int i = 0; i < 4; ++i)
            norms_.emplace_back(ATTUNE_F32, std::vector{c.inputs}, 1, random);
    }

    Status prepare() {
        std::vector<TensorView> biases;
        for (const Operand &bias : biases_)
            biases.push_back(bias.view());
        const TensorView output = projections_[3].view(), up_bias = up_bias_.view(), down_bias = down_bias_.view();
        EncoderBlockDesc desc;
        desc.attention.dtype = c.dtype, desc.attention.heads = heads;
        desc.attention.query_weight = projections_[0].view(), desc.attention.query_bias = &biases[0];
        desc.attention.key_weight = projections_[1].view(), desc.attention.key_bias = &biases[1];
        desc.attention.value_weight = projections_[2].view(), desc.attention.value_bias = &biases[2];
        desc.attention.output_weight = &output, desc.attention.output_bias = &biases[3];
        desc.feed_forward = {up_.view(), down_.view(), &up_bias, &down_bias, nullptr, ATTUNE_GELU};
        desc.attention_norm = {norms_[0].view(), norms_[1].view()}, desc.feed_forward_norm = {norms_[2].view(), norms_[3].view()};
        Result<EncoderBlock> block = EncoderBlock::create(desc);
        if (!block) return block.status();
        block_ = std::make_unique<EncoderBlock>(std::move(*block));
        return {};
    }
    Status run(int64_t, Call &call) override { return block_->run(x.view(), output(), memory_, {}, &call); }
    std::string schedule() const override { return "post-norm"; }
    Exact exact(int64_t row) const override {
        if (keys_.empty())
            for (int64_t i = 0; i < c.rows; ++i) {
                keys_.push_back(projections_[1].times(x.row(i), &biases_[1]));
                values_.push_back(projections_[2].times(x.row(i), &biases_[2]));
            }
        const Exact in = x.row(row), attended = projections_[3].times(attention(projections_[0].times(in, &biases_[0])), &biases_[3]);
        const Exact state = normed(in, attended, norms_[0], norms_[1]);
        Exact hidden = up_.times(state, &up_bias_);
        for (double &h : hidden)
            h = 0.5 * h * (1 + std::erf(h * std::sqrt(0.5)));
        return normed(state, down_.times(hidden, &down_bias_), norms_[2], norms_[3]);
    }

private:
    Operand matrix(int64_t rows, int64_t columns, std::mt19937_64 &random) const {
        return {c.dtype, {rows, columns}, deviation_of(columns), random};
    }

    Exact attention(const Exact &query) const {
        const std::size_t dim = query.size() / heads;
        Exact out(query.size());
        for (std::size_t first = 0; first < query.size(); first += dim) {
            Exact weights;
            for (const Exact &key : keys_)
                weights.push_back(std::inner_product(query.data() + first, query.data() + first + dim, key.data() + first, 0.0) /
                                  std::sqrt(double(dim)));
            const double maximum = *std::max_element(weights.begin(), weights.end());
            double sum = 0;
            for (double &weight : weights)
                sum += weight = std::exp(weight - maximum);
            for (std::size_t key = 0; key < weights.size(); ++key)
                for (std::size_t d = first; d < first + dim; ++d)
                    out[d] += weights[key] / sum * values_[key][d];
        }
        return out;
    }

    static Exact normed(const Exact &x, const Exact &added, const Operand &weight, const Operand &bias) {
        Exact sum(x);
        std::transform(x.begin(), x.end(), added.begin(), sum.begin(), std::plus<>());
        const auto count = double(sum.size());
        const double mean = std::accumulate(sum.begin(), sum.end(), 0.0) / count;
        double variance = 0;
        for (double value : sum)
            variance += (value - mean) * (value - mean) / count;
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] = (sum[i] - mean) / std::sqrt(variance + 1e-5) * weight.values.get()[i] + bias.values.get()[i];
        return sum;
    }

    Operand up_, down_, up_bias_, down_bias_;
    std::vector<Operand> projections_, biases_; // query, key, value, output
    std::vector<Operand> norms_;                // weight and bias of attention's, then of the feed-forward network's
    std::unique_ptr<EncoderBlock> block_;
    BlockMemory memory_;
    mutable std::vector<Exact> keys_, values_; // of all rows, once they are asked for
};

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
Result<Measurement> measure(Layer &layer, const Settings &settings) {
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
    std::mt19937_64 random(0);
    if (c.kind == LayerCase::encoder_block) {
        Encoder block(c, random);
        if (const Status status = block.prepare(); !status) return status;
        Result<Measurement> measured = measure(block, settings);
        if (!measured) return measured.status();
        result.schedules.push_back(*measured);
        return result;
    }
    if (c.memory_bound()) {
        const auto wanted = static_cast<int64_t>(std::ceil(4.0 * double(last_level_cache_bytes()) / c.weight_bytes()));
        const auto fitting = static_cast<int64_t>(0.5 * double(available_memory_bytes()) / c.weight_bytes());
        result.copies = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(fitting, 1)), result.capped = result.copies < wanted;
    }
    LinearLayer layer(c, random);
    for (const std::string &schedule : settings.schedules) {
        if (const Status status = layer.prepare(schedule, result.copies); !status) return status;
        Result<Measurement> measured = measure(layer, settings);
        if (!measured) return measured.status();
        result.schedules.push_back(*measured);
    }
    return result;
}

} // namespace attune::bench
