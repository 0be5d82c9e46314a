// An encoder block of a transformer, 16 channels, 4 heads: a batch of two sentences, the second of which is padded from its fifth token on.
#include <attune/layers.hpp>

#include "example.h"

int main() {
    std::vector<std::vector<float>> memory; // of weights
    const auto tensor = [&](uint32_t seed, std::initializer_list<int64_t> extents, float scale, float mean = 0) {
        memory.push_back(example::numbers(seed, extents.size() == 2 ? extents.begin()[0] * extents.begin()[1] : *extents.begin(), scale));
        for (float &x : memory.back())
            x += mean;
        return attune::TensorView(memory.back().data(), extents);
    };
    const attune::TensorView biases[] = {tensor(2, {16}, 0.25f), tensor(4, {16}, 0.25f), tensor(6, {16}, 0.25f), tensor(8, {16}, 0.25f)};
    const attune::TensorView output = tensor(7, {16, 16}, 0.5f), up_bias = tensor(10, {40}, 0.25f), down_bias = tensor(12, {16}, 0.25f);
    attune::EncoderBlockDesc desc; // post-norm; `norm_first` for pre-norm
    desc.attention.heads = 4, desc.attention.output_weight = &output, desc.attention.output_bias = &biases[3];
    desc.attention.query_weight = tensor(1, {16, 16}, 0.5f), desc.attention.key_weight = tensor(3, {16, 16}, 0.5f);
    desc.attention.value_weight = tensor(5, {16, 16}, 0.5f), desc.attention.query_bias = &biases[0];
    desc.attention.key_bias = &biases[1], desc.attention.value_bias = &biases[2];
    desc.feed_forward = {tensor(9, {40, 16}, 0.25f), tensor(11, {16, 40}, 0.25f), &up_bias, &down_bias, nullptr, ATTUNE_RELU};
    desc.attention_norm = {tensor(13, {16}, 0.25f, 1), tensor(14, {16}, 0.25f)},
    desc.feed_forward_norm = {tensor(15, {16}, 0.25f, 1), tensor(16, {16}, 0.25f)};
    const auto block = attune::EncoderBlock::create(desc);
    if (!block) return example::fail(block.status().message);

    const bool is_padding[2][6] = {{}, {false, false, false, false, true, true}};
    const attune::TensorView padding(is_padding[0], {2, 6});
    attune::BlockAttention options;
    options.key_padding = &padding, options.polarity = ATTUNE_TRUE_MASKS;
    std::vector<float> x = example::numbers(120, 2 * 6 * 16);
    const attune::TensorView tokens(x.data(), {2, 6, 16});
    attune::BlockMemory scratch; // shared by all blocks of a stack
    if (const attune::Status status = block->run(tokens, tokens, scratch, options); !status) return example::fail(status.message);
    example::show("outputs", example::numbered(6), {"0", "1", "2", "3"}, x.data(), 16);
    return example::check("outputs", x.data(), {{-0.653690, -1.306635, 0.899288, 0.151770}}) ? 0 : 1;
}
