// The masks of a run as kernels read them: for each query row a few key intervals.
#pragma once

#include <cstdint>

#include "runtime/src/kernel/call.h"
#include "runtime/src/mask/key_sets.h"
#include "runtime/src/mask/program.h"
#include "runtime/src/tensor/integers.h"

namespace attune::runtime {

/** What a mask is worked out for. */
struct MaskInput {
    int64_t batch;
    int64_t heads;                              // Hq
    int64_t queries;                            // N
    int64_t keys;                               // M
    int64_t offset = 0;                         // of every batch item, where `offsets` is nullptr
    const attune_tensor *offsets = nullptr;     // [B] integers, or nullptr
    const attune_tensor *key_lengths = nullptr; // [B] integers, or nullptr
    bool lengths_cut = true;                    // they cut every row, whatever the mask says; false: they are those of its term
    const int32_t *params = nullptr;            // of a compiled-in mask
    const DocumentSets *documents = nullptr;    // filled, where the mask depends on them
    const BlockSets *blocks = nullptr;
};

/** int32 (2, R, N, H, B): begin and end of interval r of row i of head h of batch item b at
 *  data[2 r + row_stride i + head_stride h + batch_stride b], sorted, disjoint, not empty, then (M, M) in unused places. A stride is 0
 * where all rows, heads or items have the same. */
struct IntervalTable {
    const int32_t *data;
    int32_t intervals; // R, at least 1: the most that any row has
    int32_t row_stride;
    int32_t head_stride;
    int32_t batch_stride;
};

/** Works out the table in `memory`, which it stays in. */
Status build_interval_table(const MaskProgram &program, const MaskInput &input, Call &call, Scratch<int32_t> &memory, IntervalTable &table);

/** The least key that any row attends to, and the first row that does; M where none attends to any. For one item and head. */
struct FirstKey {
    int64_t key;
    int64_t row;
};
Status find_first_key(const MaskProgram &program, const MaskInput &input, Call &call, FirstKey &first);

} // namespace attune::runtime
