#include "files.h"

#include <cmath>

#include "tools/error.h"
#include "tools/npy.h"

namespace attune::test {

namespace {

/** Wellons' lowbias32: https://nullprogram.com/blog/2018/07/31/ */
uint32_t lowbias32(uint32_t x) {
    x ^= x >> 16, x *= 0x7feb352du;
    x ^= x >> 15, x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

} // namespace

Tensor<float> numbers(uint32_t seed, const Extents &extents, float scale) {
    const Tensor<float> tensor(extents);
    uint32_t place = seed * 1000003u;
    tensor.each([&](float &x) { x = std::ldexp(static_cast<float>(static_cast<int32_t>(lowbias32(place++)) >> 8), -23) * scale; });
    return tensor;
}

Tensor<uint8_t> mask_of(uint32_t seed, const Extents &extents) {
    const std::vector<float> of = numbers(seed, extents).values();
    const Tensor<uint8_t> mask(extents);
    size_t place = 0;
    mask.each([&](uint8_t &cell) {
        cell = place % static_cast<size_t>(extents.back()) == 0 || static_cast<double>(of[place]) > -1.0 / 3;
        place++;
    });
    return mask;
}

Tensor<uint8_t> padding(const std::vector<int64_t> &lengths, int64_t keys) {
    const Tensor<uint8_t> mask({static_cast<int64_t>(lengths.size()), keys});
    for (size_t b = 0; b < lengths.size(); b++)
        for (int64_t j = 0; j < keys; j++)
            mask(b, j) = j >= lengths[b];
    return mask;
}

Tensor<float> journey() {
    const float inputs[] = {0.43f, 0.15f, 0.89f, 0.55f, 0.87f, 0.66f, 0.57f, 0.85f, 0.64f,
                            0.22f, 0.58f, 0.33f, 0.77f, 0.25f, 0.10f, 0.05f, 0.80f, 0.55f};
    const Tensor<float> tokens({1, 6, 3});
    std::copy(std::begin(inputs), std::end(inputs), tokens.data());
    return tokens;
}

std::vector<double> golden_file(const std::string &name, const Extents &extents) {
    const tools::Array array = tools::read_npy(ATTUNE_GOLDEN_FOLDER "/" + name + ".npy", {ATTUNE_F32});
    if (array.shape != extents)
        tools::bad_argument("{} is {}; expected {}", name, tools::shape_text(array.shape), tools::shape_text(extents));
    return std::vector<double>(array.as<float>(), array.as<float>() + array.bytes / static_cast<int64_t>(sizeof(float)));
}

} // namespace attune::test
