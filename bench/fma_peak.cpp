// Chains of independent multiply-adds, enough of them to hide their latency: 4 cycles x 2 a cycle is 8 at least. AVX-512 has
// 32 registers for 24 chains, the others 16 for 12.
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <immintrin.h>

#include "attune/attune.h"
#include "bench/machine.h"
#include "bench/threads.h"

namespace attune::bench {
namespace {

constexpr double burst_seconds = 5e-3;
constexpr double rest_seconds = 50e-3;
constexpr int first_bursts = 20;
constexpr float factor = 0.999f, term = 0.001f; // x -> factor x + term stays near 1: neither overflow nor denormals

/** A chain loop: runs `steps` rounds and returns a value that depends on all of them. */
using Chains = float (*)(int64_t steps);

struct PeakLoop {
    Chains run;
    double flops_per_step;
};

__attribute__((target("avx512f"))) float chains_avx512(int64_t steps) {
    constexpr int chains = 24;
    __m512 sum[chains];
    for (int i = 0; i < chains; ++i)
        sum[i] = _mm512_set1_ps(static_cast<float>(i));
    const __m512 x = _mm512_set1_ps(factor), y = _mm512_set1_ps(term);
    for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 24
        for (int i = 0; i < chains; ++i)
            sum[i] = _mm512_fmadd_ps(sum[i], x, y);
    }
    float total = 0;
    for (int i = 0; i < chains; ++i)
        total += _mm512_cvtss_f32(sum[i]);
    return total;
}

__attribute__((target("avx2,fma"))) float chains_avx2(int64_t steps) {
    constexpr int chains = 12;
    __m256 sum[chains];
    for (int i = 0; i < chains; ++i)
        sum[i] = _mm256_set1_ps(static_cast<float>(i));
    const __m256 x = _mm256_set1_ps(factor), y = _mm256_set1_ps(term);
    for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
        for (int i = 0; i < chains; ++i)
            sum[i] = _mm256_fmadd_ps(sum[i], x, y);
    }
    float total = 0;
    for (int i = 0; i < chains; ++i)
        total += _mm256_cvtss_f32(sum[i]);
    return total;
}

float chains_sse2(int64_t steps) {
    constexpr int chains = 12;
    __m128 sum[chains];
    for (int i = 0; i < chains; ++i)
        sum[i] = _mm_set1_ps(static_cast<float>(i));
    const __m128 x = _mm_set1_ps(factor), y = _mm_set1_ps(term);
    for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
        for (int i = 0; i < chains; ++i)
            sum[i] = _mm_add_ps(_mm_mul_ps(sum[i], x), y);
    }
    float total = 0;
    for (int i = 0; i < chains; ++i)
        total += _mm_cvtss_f32(sum[i]);
    return total;
}

__attribute__((target("avx512f,avx512bf16"))) float chains_bf16(int64_t steps) {
    constexpr int chains = 24;
    __m512 sum[chains];
    for (int i = 0; i < chains; ++i)
        sum[i] = _mm512_set1_ps(static_cast<float>(i));
    const __m512bh x = (__m512bh)_mm512_set1_epi32(0x3f803f80), y = (__m512bh)_mm512_set1_epi32(0x3a003a00); // pairs of 1 and of 2^-11
    for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 24
        for (int i = 0; i < chains; ++i)
            sum[i] = _mm512_dpbf16_ps(sum[i], x, y);
    }
    float total = 0;
    for (int i = 0; i < chains; ++i)
        total += _mm512_cvtss_f32(sum[i]);
    return total;
}

// Tiles of 16 x 32 and 32 x 16: four sums of two and two operands hide the latency of 52 cycles, four times the 16 of one product.
__attribute__((target("amx-tile,amx-bf16"))) float chains_tiles(int64_t steps) {
    struct alignas(64) Configuration {
        uint8_t palette = 1, start_row = 0, reserved[14] = {};
        uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
        uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    const Configuration configuration;
    alignas(64) float tile[16][16] = {};
    asm volatile("" : : "r"(&configuration), "r"(tile) : "memory"); // both are read whole, which g++ 12's declarations don't say
    _tile_loadconfig(&configuration);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(4, tile, 64);
    _tile_loadd(5, tile, 64);
    _tile_loadd(6, tile, 64);
    _tile_loadd(7, tile, 64);
    for (int64_t step = 0; step < steps; ++step) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(3, tile, 64);
    _tile_release();
    return tile[0][0];
}

PeakLoop loop_for(std::string_view cpu_class, attune_type type) {
    if ((cpu_class == "avx512_bf16" || cpu_class == "avx512_zen5") && type == ATTUNE_BF16) return {chains_bf16, 24 * 32 * 2};
    if (cpu_class == "avx512_amx" && type == ATTUNE_BF16) return {chains_tiles, 4 * 16 * 16 * 32 * 2};
    if (cpu_class.substr(0, 6) == "avx512") return {chains_avx512, 24 * 16 * 2};
    if (cpu_class == "avx2") return {chains_avx2, 12 * 8 * 2};
    return {chains_sse2, 12 * 4 * 2};
}

/** Makes the compiler believe that `value` is used: the loops would be optimised away. */
void keep(float value) { asm volatile("" : : "x"(value)); }

/** Steps that take about burst_seconds on one thread. */
int64_t steps_of_a_burst(Chains run) {
    for (int64_t steps = 1000;; steps *= 2) {
        const double start = now();
        keep(run(steps));
        if (const double seconds = now() - start; seconds > burst_seconds / 4)
            return static_cast<int64_t>(double(steps) * burst_seconds / seconds);
    }
}

} // namespace

FmaPeak::FmaPeak(int32_t threads, attune_type type)
    : threads_(threads), type_(type), steps_(steps_of_a_burst(loop_for(attune_cpu_class(), type).run)) {
    for (int i = 0; i < first_bursts; ++i)
        burst();
}

void FmaPeak::sample() {
    if (now() - last_ > rest_seconds) burst();
}

double FmaPeak::gflops() const { return fastest_.back(); }

void FmaPeak::burst() {
    const PeakLoop loop = loop_for(attune_cpu_class(), type_);
    std::vector<float> totals(static_cast<std::size_t>(threads_));
    const double seconds = time_together(threads_, [&](int32_t thread) { totals[static_cast<std::size_t>(thread)] = loop.run(steps_); });
    for (float total : totals)
        keep(total);
    double rate = loop.flops_per_step * double(steps_) * threads_ / seconds * 1e-9;
    for (double &place : fastest_)
        if (rate > place) std::swap(rate, place);
    last_ = now();
}

} // namespace attune::bench
