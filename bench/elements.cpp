#include "bench/elements.h"

#include <algorithm>
#include <cstring>

#include "bench/half.h"

namespace attune::bench {
namespace {

uint16_t *halves(const Buffer &buffer) { return reinterpret_cast<uint16_t *>(buffer.get()); }

Buffer make_buffer_of(attune_type type, int64_t count) { return make_buffer(type == ATTUNE_F32 ? count : (count + 1) / 2); }

void fill(const Buffer &buffer, attune_type type, int64_t count, int byte) {
    std::memset(buffer.get(), byte, static_cast<std::size_t>(count) * attune_type_size(type));
}

} // namespace

Buffer normal(int64_t count, attune_type type, std::mt19937_64 &random, float deviation) {
    Buffer buffer = make_buffer(count);
    std::normal_distribution<float> distribution(0, deviation);
    std::generate_n(buffer.get(), count, [&] {
        const float value = distribution(random);
        return type == ATTUNE_F32 ? value : half_value(type, half_bits(type, value));
    });
    return buffer;
}

Buffer stored(const Buffer &values, attune_type type, int64_t count) {
    Buffer buffer = make_buffer_of(type, count);
    if (type == ATTUNE_F32)
        std::memcpy(buffer.get(), values.get(), static_cast<std::size_t>(count) * sizeof(float));
    else
        std::transform(values.get(), values.get() + count, halves(buffer), [&](float value) { return half_bits(type, value); });
    return buffer;
}

Buffer zeros(attune_type type, int64_t count) {
    Buffer buffer = make_buffer_of(type, count);
    fill(buffer, type, count, 0);
    return buffer;
}

float element(const Buffer &buffer, attune_type type, int64_t index) {
    return type == ATTUNE_F32 ? buffer.get()[index] : half_value(type, halves(buffer)[index]);
}

void spoil(const Buffer &buffer, attune_type type, int64_t count) {
    constexpr int all_ones = 0xff; // a NaN in every type
    fill(buffer, type, count, all_ones);
}

} // namespace attune::bench
