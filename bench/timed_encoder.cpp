#include <algorithm>
#include <cmath>
#include <numeric>

#include "attune/layers.hpp"
#include "bench/timed_layer.h"

namespace attune::bench {
namespace {

constexpr int64_t heads = 12;

class TimedEncoder : public TimedLayer {
public:
    TimedEncoder(const LayerCase &layer, std::mt19937_64 &random)
        : TimedLayer(layer, layer.inputs, random), up_(matrix(c.dtype, c.outputs, c.inputs, random)),
          down_(matrix(c.dtype, c.inputs, c.outputs, random)), up_bias_(ATTUNE_F32, {c.outputs}, 1, random),
          down_bias_(ATTUNE_F32, {c.inputs}, 1, random) {
        for (int i = 0; i < 4; ++i)
            projections_.push_back(matrix(c.dtype, c.inputs, c.inputs, random)),
                biases_.emplace_back(ATTUNE_F32, std::vector{c.inputs}, 1, random);
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
    Exact attention(const Exact &query) const {
        const std::size_t dim = query.size() / heads;
        Exact out(query.size());
        for (std::size_t first = 0; first < query.size(); first += dim) {
            Exact weights;
            for (const Exact &key : keys_)
                weights.push_back(std::inner_product(query.data() + first, query.data() + first + dim, key.data() + first, 0.0) /
                                  std::sqrt(double(dim)));
            weights = exact_softmax(std::move(weights));
            for (std::size_t key = 0; key < weights.size(); ++key)
                for (std::size_t d = first; d < first + dim; ++d)
                    out[d] += weights[key] * values_[key][d];
        }
        return out;
    }

    static Exact normed(const Exact &x, const Exact &added, const Operand &weight, const Operand &bias) {
        Exact sum(x);
        std::transform(x.begin(), x.end(), added.begin(), sum.begin(), std::plus<>());
        sum = exact_norm(std::move(sum), true, 1e-5);
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] = sum[i] * weight.values.get()[i] + bias.values.get()[i];
        return sum;
    }

    Operand up_, down_, up_bias_, down_bias_;
    std::vector<Operand> projections_, biases_; // query, key, value, output
    std::vector<Operand> norms_;                // weight and bias of attention's, then of the feed-forward network's
    std::unique_ptr<EncoderBlock> block_;
    BlockMemory memory_;
    mutable std::vector<Exact> keys_, values_; // of all rows, once they are asked for
};

} // namespace

Result<std::unique_ptr<TimedLayer>> make_timed_encoder(const LayerCase &c) {
    std::mt19937_64 random(0);
    auto layer = std::make_unique<TimedEncoder>(c, random);
    if (const Status status = layer->prepare(); !status) return status;
    return std::unique_ptr<TimedLayer>(std::move(layer));
}

} // namespace attune::bench
