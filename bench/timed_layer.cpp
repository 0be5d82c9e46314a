#include "bench/timed_layer.h"

#include <cmath>
#include <numeric>

namespace attune::bench {

Operand::Operand(attune_type dtype, std::vector<int64_t> shape, float deviation, std::mt19937_64 &random)
    : type(dtype), extents(std::move(shape)) {
    const int64_t count = std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
    values = normal(count, type, random, deviation);
    data = stored(values, type, count);
}

Exact Operand::times(const Exact &x, const Operand *bias) const {
    Exact y(static_cast<std::size_t>(extents[0]));
    for (std::size_t i = 0; i < y.size(); ++i)
        y[i] =
            std::inner_product(x.begin(), x.end(), values.get() + static_cast<int64_t>(i) * extents[1], bias ? bias->values.get()[i] : 0.0);
    return y;
}

Operand matrix(attune_type dtype, int64_t rows, int64_t columns, std::mt19937_64 &random) {
    return {dtype, {rows, columns}, 1 / std::sqrt(static_cast<float>(columns)), random};
}

TimedLayer::TimedLayer(const LayerCase &layer, int64_t outputs, std::mt19937_64 &random)
    : c(layer), x(c.dtype, {c.rows, c.inputs}, 1, random), y(zeros(c.dtype, c.rows * outputs)), y_columns(outputs) {}

double TimedLayer::max_error() const {
    constexpr int64_t checked = 8;
    return largest_error(
        c.rows, checked, [&](int64_t row) { return exact(row); },
        [&](int64_t row, int64_t column) { return element(y, c.dtype, row * y_columns + column); });
}

namespace {

class LinearLayer : public TimedLayer {
public:
    LinearLayer(const LayerCase &layer, std::mt19937_64 &random)
        : TimedLayer(layer, layer.outputs, random), weight_(matrix(c.dtype, c.outputs, c.inputs, random)),
          bias_(c.dtype, {c.outputs}, 1, random) {}

    Status prepare(const std::string &schedule, int64_t copies) {
        const TensorView bias = bias_.view();
        LinearDesc desc;
        desc.dtype = c.dtype, desc.weight = weight_.view(), desc.bias = &bias, desc.schedule = schedule;
        for (int64_t copy = 0; copy < copies; ++copy) {
            Result<Linear> made = Linear::create(desc);
            if (!made) return made.status();
            layers_.push_back(std::move(*made));
        }
        return {};
    }
    Status run(int64_t copy, Call &call) override {
        return layers_[static_cast<std::size_t>(copy)].run(x.view(), output(), nullptr, &call);
    }
    std::string schedule() const override { return layers_[0].kernel_for(c.rows)->schedule; }
    Exact exact(int64_t row) const override { return weight_.times(x.row(row), &bias_); }

private:
    Operand weight_, bias_;
    std::vector<Linear> layers_;
};

} // namespace

Result<std::unique_ptr<TimedLayer>> make_timed_linear(const LayerCase &c, const std::string &schedule, int64_t copies) {
    std::mt19937_64 random(0);
    auto layer = std::make_unique<LinearLayer>(c, random);
    if (const Status status = layer->prepare(schedule, copies); !status) return status;
    return std::unique_ptr<TimedLayer>(std::move(layer));
}

} // namespace attune::bench
