#include "schedules/table.h"

#include "schedules/schedules.h"

namespace attune::schedules {

const std::vector<AttentionSchedule> &attention_schedules() {
    static const std::vector<AttentionSchedule> table = {
        {"reference", "x86", "every stage in memory, no loop changed: slow, and plainly what the declaration says", reference_blocking,
         reference_attention},
        {"materialized", "x86", "all scores of a head in memory: the textbook way, vectorised", x86::materialized_blocking,
         x86::materialized_attention},
        {"flash", "x86", "scores of one tile of queries and one block of keys at a time, in cache", x86::flash_blocking,
         x86::flash_attention},
        {"flash_bf16x3", "x86",
         "flash by tiles (AMX) of bf16, each number of f32 as the sum of three; without tiles, or for other types, as flash",
         x86::flash_bf16x3_blocking, x86::flash_attention},
        {"flash_bf16x2", "x86",
         "flash by tiles (AMX) of bf16, each number of f16 as the sum of two; without tiles, or for other types, as flash",
         x86::flash_bf16x2_blocking, x86::flash_attention},
    };
    return table;
}

const std::vector<SimtSchedule> &simt_schedules() {
    static const std::vector<SimtSchedule> table = {
        {"reference", "x86", "every stage in memory, no loop changed", reference_simt_blocking, reference_simt},
        {"simt", "cuda", "a block of threads a tile of queries, scores and output in registers, no tensor cores", cuda::simt_blocking,
         cuda::simt_attention},
        {"split_kv", "cuda", "16 rows of a key/value head and a chunk of keys a block of threads, as simt; then the chunks are merged",
         cuda::simt_split_blocking, cuda::simt_attention},
    };
    return table;
}

const std::vector<DecodeSchedule> &decode_schedules() {
    static const std::vector<DecodeSchedule> table = {
        {"decode", "x86", "few queries: a chunk of keys at a time, channels in vectors, every key read once for all heads that share it",
         x86::decode_blocking, x86::decode_attention},
    };
    return table;
}

const std::vector<WeightsSchedule> &weights_schedules() {
    static const std::vector<WeightsSchedule> table = {
        {"reference", "x86", "every stage in memory, no loop changed", reference_weights},
        {"vectorized", "x86", "a tile of queries at a time, side by side in a vector", x86::vectorized_weights},
    };
    return table;
}

const std::vector<SoftmaxSchedule> &softmax_schedules() {
    static const std::vector<SoftmaxSchedule> table = {
        {"reference", "x86", "every stage in memory, no loop changed", reference_softmax_shape, reference_softmax},
        {"vectorized", "x86", "a long row or many short ones at a time, in vectors", x86::softmax_shape, x86::vectorized_softmax},
        {"warps", "cuda", "a warp a row: for short ones", cuda::softmax_warp_shape, cuda::warps_softmax},
        {"simt", "cuda", "a block of threads a row", cuda::softmax_shape, cuda::simt_softmax},
        {"wide", "cuda", "as many threads a row as a block may have: for long ones", cuda::softmax_wide_shape, cuda::wide_softmax},
    };
    return table;
}

const std::vector<SoftmaxSchedule> &softmax_columns_schedules() {
    static const std::vector<SoftmaxSchedule> table = {
        {"reference", "x86", "every stage in memory, no loop changed", reference_softmax_shape, reference_softmax},
        {"vectorized", "x86", "a few vectors of columns at a time, down the axis", x86::softmax_column_shape,
         x86::vectorized_softmax_columns},
        {"simt", "cuda", "32 columns a block, warps in turns down the axis", cuda::softmax_column_shape, cuda::simt_softmax_columns},
    };
    return table;
}

const std::vector<LinearSchedule> &linear_schedules() {
    static const std::vector<LinearSchedule> table = {
        {"reference", "x86", "every stage in memory, no loop changed", reference_linear_blocking, reference_linear},
        {"tiles", "x86", "a tile of rows and columns at a time in registers, blocks of weights and rows in cache", x86::tiles_blocking,
         x86::tiles_linear},
        {"row", "x86", "one row: several panels of weights at a time, at the speed of memory", x86::row_blocking, x86::row_linear},
        {"rows", "x86", "few rows: weights read once from memory for all of them", x86::rows_blocking, x86::rows_linear},
        {"eight_rows", "x86", "five to eight rows, all multiplied at once where registers hold their sums", x86::eight_rows_blocking,
         x86::eight_rows_linear},
    };
    return table;
}

const std::vector<MergeSchedule> &merge_schedules() {
    static const std::vector<MergeSchedule> table = {
        {"reference", "x86", "every stage in memory, no loop changed", reference_merge},
        {"vectorized", "x86", "factors of all rows first, then a row at a time, in vectors", x86::vectorized_merge},
        {"simt", "cuda", "a thread an element, a row's factors once a block", cuda::simt_merge},
    };
    return table;
}

const std::vector<NormSchedule> &norm_schedules() {
    static const std::vector<NormSchedule> table = {
        {"reference", "x86", "every stage in memory, no loop changed", reference_norm_shape, reference_norm},
        {"vectorized", "x86", "a row at a time, in vectors", x86::norm_shape, x86::vectorized_norm},
        {"simt", "cuda", "a block of threads a row", cuda::norm_shape, cuda::simt_norm},
    };
    return table;
}

const std::vector<RowSumSchedule> &row_sum_schedules() {
    static const std::vector<RowSumSchedule> table = {
        {"vectorized", "x86", "a row at a time, in vectors", x86::vectorized_row_sum},
        {"simt", "cuda", "a block of threads a row", cuda::simt_row_sum},
    };
    return table;
}

const std::vector<SlopesSchedule> &slopes_schedules() {
    static const std::vector<SlopesSchedule> table = {
        {"reference", "x86", "every stage in memory, no loop changed", reference_slopes},
        {"vectorized", "x86", "heads in vectors", x86::vectorized_slopes},
        {"simt", "cuda", "a thread a head", cuda::simt_slopes},
    };
    return table;
}

const std::vector<RelativeBiasSchedule> &relative_bias_schedules() {
    static const std::vector<RelativeBiasSchedule> table = {
        {"reference", "x86", "every stage in memory, no loop changed", reference_relative_bias},
        {"vectorized", "x86", "buckets once a batch item, shared by heads; distances in vectors", x86::vectorized_relative_bias},
        {"simt", "cuda", "a thread a distance, its bucket shared by heads", cuda::simt_relative_bias},
    };
    return table;
}

const std::vector<RotarySchedule> &rotary_schedules() {
    static const std::vector<RotarySchedule> table = {
        {"reference", "x86", "every stage in memory, no loop changed", reference_rotary_shape, reference_rotary},
        {"vectorized", "x86", "a vector of pairs at a time, the table's rows shared by heads", x86::rotary_shape, x86::vectorized_rotary},
        {"simt", "cuda", "64 pairs side by side, a thread a pair of eight heads", cuda::rotary_shape, cuda::simt_rotary},
    };
    return table;
}

const std::vector<RotaryTableSchedule> &rotary_table_schedules() {
    static const std::vector<RotaryTableSchedule> table = {
        {"reference", "x86", "every stage in memory, no loop changed", reference_rotary_table},
        {"vectorized", "x86", "a vector of pairs at a time", x86::vectorized_rotary_table},
        {"simt", "cuda", "a warp along the pairs, frequencies once a block", cuda::simt_rotary_table},
    };
    return table;
}

const std::vector<SinusoidalSchedule> &sinusoidal_schedules() {
    static const std::vector<SinusoidalSchedule> table = {
        {"reference", "x86", "every stage in memory, no loop changed", reference_sinusoidal},
        {"vectorized", "x86", "a row at a time, in vectors", x86::vectorized_sinusoidal},
        {"simt", "cuda", "a warp along the channels, frequencies once a block", cuda::simt_sinusoidal},
    };
    return table;
}

const std::vector<TokenPositionsSchedule> &token_positions_schedules() {
    static const std::vector<TokenPositionsSchedule> table = {
        {"simt", "cuda", "a thread a position", cuda::simt_token_positions},
    };
    return table;
}

const std::vector<AddPositionsSchedule> &add_positions_schedules() {
    static const std::vector<AddPositionsSchedule> table = {
        {"reference", "x86", "no loop changed", reference_add_positions},
        {"vectorized", "x86", "a row at a time, in vectors", x86::vectorized_add_positions},
        {"simt", "cuda", "a thread an element", cuda::simt_add_positions},
    };
    return table;
}

const std::vector<CacheWriteSchedule> &cache_write_schedules() {
    static const std::vector<CacheWriteSchedule> table = {
        {"simt", "cuda", "a warp along the channels, a thread an element", cuda::simt_cache_write},
    };
    return table;
}

const std::vector<CacheCountsSchedule> &cache_counts_schedules() {
    static const std::vector<CacheCountsSchedule> table = {
        {"simt", "cuda", "a thread a batch item", cuda::simt_cache_counts},
    };
    return table;
}

const std::vector<DocumentRangesSchedule> &document_ranges_schedules() {
    static const std::vector<DocumentRangesSchedule> table = {
        {"simt", "cuda", "a block of threads goes through all keys for a range of queries", cuda::document_lanes,
         cuda::simt_document_ranges},
    };
    return table;
}

} // namespace attune::schedules
