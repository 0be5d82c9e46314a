// The run-time mask as kernels read it: for each query row a few key intervals.
#pragma once

#include <cstdint>

#include "call.h"
#include "mask_program.h"

namespace attune::runtime {

/** What a mask is worked out for. */
struct MaskInput {
    int64_t batch;
    int64_t queries;                  // N
    int64_t keys;                     // M
    int64_t offset;                   // of every batch item, where `offsets` is nullptr
    const attune_tensor *offsets;     // [B] integers, or nullptr
    const attune_tensor *key_lengths; // [B] integers, or nullptr
    const int32_t *params;            // of a compiled-in mask
};

/** int32 (2, R, N, B): begin and end of interval r of row i of batch item b at data[2 r + row_stride i + batch_stride b], sorted, disjoint,
 *  not empty, then (M, M) in unused places. A stride is 0 where all rows or items have the same. */
struct IntervalTable {
    const int32_t *data;
    int32_t intervals; // R, at least 1: the most that any row has
    int32_t row_stride;
    int32_t batch_stride;
};

/** Element `index` of a rank-1 tensor of type I32 or I64. */
int64_t read_integer(const attune_tensor &tensor, int64_t index);

/** Works out the table in `memory`, which it stays in. */
Status build_interval_table(const MaskProgram &program, const MaskInput &input, Call &call, Scratch<int32_t> &memory, IntervalTable &table);

} // namespace attune::runtime
