#include "philox.h"

#include <cmath>

namespace attune::test {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; round++) {
        const uint64_t first = uint64_t(0xD2511F53) * c[0], second = uint64_t(0xCD9E8D57) * c[2];
        c = {static_cast<uint32_t>(second >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(second),
             static_cast<uint32_t>(first >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(first)};
        key[0] += 0x9E3779B9, key[1] += 0xBB67AE85;
    }
    return c;
}

bool is_dropped(float p, uint64_t seed, int64_t batch, int64_t head, int64_t i, int64_t j) {
    const auto word = [](int64_t value) { return static_cast<uint32_t>(value); };
    const auto words = philox({word(j / 4), word(i), word(head), word(batch)}, {word(seed & 0xffffffff), word(seed >> 32)});
    return words[j % 4] < std::floor(std::ldexp(static_cast<double>(p), 32));
}

} // namespace attune::test
