// Blocks with the weights that make.py gives PyTorch's: width 16, 4 heads, 40 channels between.
#pragma once

#include <deque>

#include "attune/layers.hpp"
#include "files.h"

namespace attune::test {

/** Descriptions of blocks, and the memory they point to. */
class BlockWeights {
public:
    static constexpr int64_t width = 16, heads = 4, hidden = 40;

    /** set_attention(): weights number seed, + 2, + 4 and + 6. */
    MultiHeadAttentionDesc attention(uint32_t seed, const std::string &mask = "none", const std::string &position = "none");
    /** feed_forward(). */
    FeedForwardDesc feed_forward(uint32_t seed, attune_activation activation);
    /** norm(). */
    LayerNormDesc norm(uint32_t seed);

    /** encoder_layer() and decoder_layer(), post-norm with ReLU or pre-norm with GELU. */
    EncoderBlockDesc encoder(uint32_t seed, bool norm_first, const std::string &mask = "none", const std::string &position = "none");
    DecoderBlockDesc decoder(uint32_t seed, bool norm_first);

private:
    const TensorView &keep(Tensor<float> tensor);

    std::deque<Tensor<float>> tensors_;
    std::deque<TensorView> views_;
};

} // namespace attune::test
