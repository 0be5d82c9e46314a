#include "tile_product.h"

namespace attune::emulator {

void widen_halves(const void *from, float *to, int count) {
    const auto *source = static_cast<const __m128i *>(from);
    for (int i = 0; i < count / 8; ++i)
        _mm256_storeu_ps(to + 8 * i, _mm256_cvtph_ps(_mm_loadu_si128(source + i)));
}

void widen_brains(const void *from, float *to, int count) {
    const auto *source = static_cast<const __m128i *>(from);
    for (int i = 0; i < count / 8; ++i) {
        const __m256i words = _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(source + i)), 16);
        _mm256_storeu_ps(to + 8 * i, _mm256_castsi256_ps(words));
    }
}

void transpose8(const float *from, int step, float *to) {
    __m256 row[8], pair[8], quad[8];
    for (int i = 0; i < 8; ++i)
        row[i] = _mm256_loadu_ps(from + i * step);
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
        pair[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
        quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xee);
        quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
        quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
    }
    for (int i = 0; i < 4; ++i) {
        _mm256_storeu_ps(to + 8 * i, _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20));
        _mm256_storeu_ps(to + 8 * (i + 4), _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31));
    }
}

void multiply_tile(const float *a, const float *b, int step, int depth, float *sum) {
    constexpr int rows = 8; // at once
    for (int i = 0; i < 16; i += rows) {
        __m256 sums[rows];
        for (__m256 &s : sums)
            s = _mm256_setzero_ps();
        for (int k = 0; k < depth; ++k) {
            const __m256 row = _mm256_loadu_ps(b + k * step);
#pragma GCC unroll 8
            for (int j = 0; j < rows; ++j)
                sums[j] = _mm256_fmadd_ps(_mm256_broadcast_ss(a + (i + j) * depth + k), row, sums[j]);
        }
        for (int j = 0; j < rows; ++j)
            _mm256_storeu_ps(sum + (i + j) * 8, sums[j]);
    }
}

} // namespace attune::emulator
