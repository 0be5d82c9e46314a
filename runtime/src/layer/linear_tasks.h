// How a linear layer's rows and columns are shared among threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/src/divided_up.h"
#include "runtime/src/layer/linear_weights.h"

namespace attune::runtime {

/** Rows of a tile of the schedule `tiles`, or of two. */
inline constexpr int64_t rows_per_linear_tile = 12;

struct LinearTask {
    int32_t rows, columns; // at most
};

/** Tasks as large as each other, as many for each thread: of up to 144 rows, whose blocks of terms stay in a second-level cache of 1 MiB
 * while weights stream by, and up to 4096 columns, for which rows are copied once. Where that makes fewer than there are threads, they are
 * of fewer rows, down to 24, and then of fewer columns, down to 128. No number changes by it. */
inline LinearTask linear_task(int64_t rows, int64_t columns, int32_t threads) {
    constexpr int64_t rows_per_tile = rows_per_linear_tile, columns_per_panel = PackedWeights::panel_columns;
    constexpr int64_t most_tiles = 12, least_tiles = 2, most_panels = 128, least_panels = 4;
    const int64_t tiles = divided_up(rows, rows_per_tile), panels = divided_up(columns, columns_per_panel);
    const int64_t all = tiles * divided_up(panels, most_panels);
    const int64_t tiles_of_thread = divided_up(all, threads), turns = divided_up(tiles_of_thread, most_tiles);
    const int64_t tiles_per_task = std::clamp(divided_up(all, threads * turns), least_tiles, most_tiles);
    const int64_t shares = std::max(divided_up(panels, most_panels), divided_up(threads, divided_up(tiles, tiles_per_task)));
    const int64_t panels_per_task = std::clamp(divided_up(panels, shares), least_panels, most_panels);
    return {int32_t(tiles_per_task * rows_per_tile), int32_t(panels_per_task * columns_per_panel)};
}

} // namespace attune::runtime
