// Positions added to the input of a transformer, with a greatest length and dropout.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "attune/attune.hpp"

namespace attune {

/** Positions added to the input of a stack of blocks, with the dropout that training has there. Rotary ones belong to an attention's
 * `position` instead. */
struct InputPositions {
    const TensorView *table = nullptr; // learned, f32 [P, C]; none: the sinusoidal table
    int64_t max_length = 0;            // positions there are; 0: as many as the table has, or without one no limit
    int64_t offset = 0;                // position of token 0
    float dropout = 0;                 // 0 <= p < 1: of the sums
    uint64_t seed = 0;
};

namespace block {

/** Philox 4x32-10 (Salmon et al., SC 2011). */
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, uint64_t seed) {
    auto low = static_cast<uint32_t>(seed), high = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; round++, low += 0x9E3779B9u, high += 0xBB67AE85u) {
        const uint64_t a = uint64_t{0xD2511F53u} * counter[0], b = uint64_t{0xCD9E8D57u} * counter[2];
        counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ low, static_cast<uint32_t>(b),
                   static_cast<uint32_t>(a >> 32) ^ counter[3] ^ high, static_cast<uint32_t>(a)};
    }
    return counter;
}

/** In place, on contiguous [batch, tokens, channels]. */
inline void drop(float *y, int64_t batch, int64_t tokens, int64_t channels, float dropout, uint64_t seed) {
    const auto threshold = static_cast<uint32_t>(std::floor(double(dropout) * 4294967296.0));
    for (int64_t row = 0; row < batch * tokens; row++, y += channels) {
        std::array<uint32_t, 4> words = {};
        for (int64_t c = 0; c < channels; c++) {
            if (c % 4 == 0)
                words = philox({static_cast<uint32_t>(c / 4), static_cast<uint32_t>(row % tokens), 0, static_cast<uint32_t>(row / tokens)},
                               seed);
            y[c] = words[static_cast<size_t>(c % 4)] < threshold ? 0.0f : y[c] / (1 - dropout);
        }
    }
}

/** Whether elements lie one after the other; the stride of an axis of one element doesn't count. */
inline bool is_packed(const TensorView &y) {
    int64_t next = 1;
    for (int32_t axis = y.rank - 1; axis >= 0; axis--) {
        if (y.extent[axis] > 1 && y.stride[axis] != next) return false;
        if (__builtin_mul_overflow(next, std::max<int64_t>(y.extent[axis], 1), &next)) return false;
    }
    return true;
}

} // namespace block

/** y = dropout(x + position); [B, N, C] or [N, C], as attune_add_positions takes them; with dropout f32, on the CPU, y contiguous. y may be
 * x. Dropout draws like that of attention: Philox 4x32-10, with the counter (channel / 4, token, 0, batch) and word channel mod 4. */
inline Status add_input_positions(const TensorView &x, const TensorView &y, const InputPositions &positions, attune_call *call = nullptr) {
    if (x.rank < 2 || x.rank > 3) return {ATTUNE_INVALID_ARGUMENT, "x has rank " + std::to_string(x.rank) + "; it must be 2 or 3"};
    if (positions.max_length < 0)
        return {ATTUNE_INVALID_ARGUMENT, "max_length is " + std::to_string(positions.max_length) + "; it must be 0 or more"};
    const int64_t tokens = x.extent[x.rank - 2];
    int64_t end = 0;
    const bool overflows = __builtin_add_overflow(positions.offset, tokens, &end);
    if (positions.max_length > 0 && (overflows || positions.offset < 0 || end > positions.max_length))
        return {ATTUNE_INVALID_ARGUMENT, "x has " + std::to_string(tokens) + " tokens from position " + std::to_string(positions.offset) +
                                             "; max_length is " + std::to_string(positions.max_length)};
    if (!(positions.dropout >= 0 && positions.dropout < 1))
        return {ATTUNE_INVALID_ARGUMENT, "dropout is " + std::to_string(positions.dropout) + "; it must be 0 or more, and below 1"};
    AddPositionsOptions options;
    options.table = positions.table, options.offset = positions.offset;
    const int64_t channels = x.extent[x.rank - 1];
    if (positions.dropout > 0 && (y.type != ATTUNE_F32 || y.device != ATTUNE_CPU))
        return {ATTUNE_UNSUPPORTED, "y.type is " + std::string(attune_type_name(y.type)) + " and y.device " + attune_device_name(y.device) +
                                        "; for dropout they must be f32 and cpu"};
    if (positions.dropout > 0 && (y.rank != x.rank || !block::is_packed(y)))
        return {ATTUNE_INVALID_ARGUMENT, "y has gaps between its rows; for dropout it must be contiguous"};
    const Status status = add_positions(x, y, options, call);
    if (status && positions.dropout > 0)
        block::drop(static_cast<float *>(y.data), x.rank == 3 ? x.extent[0] : 1, tokens, channels, positions.dropout, positions.seed);
    return status;
}

} // namespace attune
