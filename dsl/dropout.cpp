#include "dsl/dropout.h"

namespace attune::dsl {

using Halide::cast;
using Halide::Expr;

namespace {

struct Product {
    Expr high, low;
};

// The lower half by itself: of one product of 64 bits for both, LLVM takes vectors apart and puts them together again.
Product multiply(const Expr &a, uint32_t b) {
    const Expr wide = cast<uint64_t>(a) * Expr(uint64_t(b));
    return {cast<uint32_t>(wide >> 32), a * Expr(b)};
}

} // namespace

Words philox(const Words &counter, const std::array<Expr, 2> &key) {
    Words x = counter;
    Expr k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        const Product first = multiply(x[0], 0xd2511f53u), second = multiply(x[2], 0xcd9e8d57u);
        x = {second.high ^ x[1] ^ k0, second.low, first.high ^ x[3] ^ k1, first.low};
        k0 = k0 + Expr(0x9e3779b9u), k1 = k1 + Expr(0xbb67ae85u); // Weyl sequences: the golden ratio, and sqrt(3) - 1
    }
    return x;
}

Expr Dropout::used() const { return threshold != cast<uint32_t>(0); }

Expr Dropout::keeps(const Cell &cell) const {
    const Words words = philox(
        {cast<uint32_t>(cell.key / keys_of_counter), cast<uint32_t>(cell.query), cast<uint32_t>(cell.head), cast<uint32_t>(cell.batch)},
        {seed_low, seed_high});
    Expr which = cell.key % keys_of_counter;
    Expr word = select(which == 0, words[0], which == 1, words[1], which == 2, words[2], words[3]);
    return select(word < threshold, 0.0f, 1.0f);
}

Expr Dropout::scale() const { return 1.0f / (1.0f - cast<float>(threshold) * 2.3283064365386963e-10f); }

} // namespace attune::dsl
