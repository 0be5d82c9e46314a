// How attention's queries are shared among threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/src/divided_up.h"
#include "runtime/src/kernel/cpu.h"

namespace attune::runtime {

struct AttentionWork {
    int64_t heads;    // of all batch items
    int64_t queries;  // of each head
    int64_t keys;     // likewise
    int64_t channels; // D + Dv
    bool rows_alike;  // whether all rows of a head attend to as many keys
};

inline constexpr int64_t most_tiles_of_attention_task = 32, most_attention_heads_at_a_time = 8, most_attention_cells_at_a_time = 1 << 17;

/** Channels of keys, and of values, in multiples of which the schedule `decode` multiplies tiles (AMX). */
inline constexpr int64_t key_channels_of_decode_tiles = 32, value_channels_of_decode_tiles = 64;

/** Queries of a tile of the schedule `flash`, as schedules/tuned has them, of a kernel for that head size (0: any). */
inline int64_t attention_rows_per_tile(CpuClass cpu, int64_t head_dim) {
    if (cpu == CpuClass::x86_64) return 8;
    if (cpu != CpuClass::avx2) return 32;
    return head_dim == 64 || head_dim == 128 ? 24 : 16;
}

/** Tiles that a kernel makes a task of, for so many queries: see Blocking::share() in dsl/attention/attention.h. */
inline int64_t attention_tiles_per_task(int64_t rows_per_task, int64_t rows_per_tile) {
    int64_t tiles = 1;
    while (2 * tiles * rows_per_tile <= rows_per_task && tiles < most_tiles_of_attention_task)
        tiles *= 2;
    return tiles;
}

/** Heads of so many tiles that a thread takes at a time, where a task is all of a head: see there, too. */
inline int64_t attention_heads_at_a_time(int64_t rows_per_task, int64_t tiles, int64_t rows_per_tile, int64_t keys) {
    const int64_t rows = std::min(rows_per_task, most_attention_cells_at_a_time / std::max<int64_t>(keys, 1));
    return std::clamp<int64_t>(rows / std::max<int64_t>(tiles * rows_per_tile, 1), 1, most_attention_heads_at_a_time);
}

/** Queries of a task, at most: 8 to 1024, a power of 2, of which a kernel takes as many tiles, likewise a power of 2, as they hold. As
 * many as can be, since a task copies keys and values, and packs its queries, once; but few enough that threads end together. No number
 * changes by it: a tile of queries is one thread's, however many share a task.
 *
 * Of heads with fewer queries a thread takes several tasks at a time.
 *
 * What the thread takes that ends last is estimated, in tiles: tasks of whole heads, or as large as each other, in rounds; of others an
 * even share and half of the largest, which may cost twice the mean where rows aren't alike. A task costs an eighth of a tile besides
 * (copies, queries packed), three tenths of the smaller tiles without AVX-512 (with AVX2 an eighth is level to 2 % slower), and the time of
 * 125,000 multiply-adds (2.5 us); more than one cost some 5 us until another thread is awake. */
inline int32_t attention_rows_per_task(const AttentionWork &work, int32_t threads, int64_t rows_per_tile) {
    constexpr int64_t most_rows = 1024, least_rows = 8;
    if (threads <= 1) return most_rows;
    const int64_t tiles = divided_up(work.queries, rows_per_tile);
    const double of_task =
        125e3 / (static_cast<double>(rows_per_tile) * static_cast<double>(std::max<int64_t>(work.keys * work.channels, 1)));
    const auto last = [&](int64_t rows) {
        const int64_t tiles_per_task = attention_tiles_per_task(rows, rows_per_tile);
        const bool whole_heads = tiles <= tiles_per_task;
        const int64_t together = whole_heads ? std::min(attention_heads_at_a_time(rows, tiles, rows_per_tile, work.keys), work.heads) : 1;
        const int64_t turns = divided_up(work.heads, std::max<int64_t>(together, 1)) * divided_up(tiles, tiles_per_task);
        const double largest = static_cast<double>(std::min(tiles, tiles_per_task)), beside = (rows_per_tile < 32 ? 0.3 : 0.125) + of_task;
        const double waking = turns > 1 ? 2 * of_task : 0;
        if (whole_heads || (work.rows_alike && tiles % tiles_per_task == 0))
            return static_cast<double>(divided_up(turns, threads) * together) * (largest + beside) + waking;
        const double even = (static_cast<double>(work.heads * tiles) + static_cast<double>(turns) * beside) / threads;
        return even + (work.rows_alike ? largest / 2 : largest) + waking;
    };
    int64_t best = most_rows;
    for (int64_t fewer = most_rows / 2; fewer >= least_rows; fewer /= 2)
        if (last(fewer) < last(best)) best = fewer;
    return static_cast<int32_t>(best);
}

} // namespace attune::runtime
