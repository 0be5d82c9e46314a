// The named schedules of each operation. An unknown name is an error that lists the known ones.
#pragma once

#include <string>
#include <vector>

#include "dsl/attention/attention.h"
#include "dsl/attention/simt.h"
#include "dsl/attention/weights.h"
#include "dsl/cache.h"
#include "dsl/decode/decode.h"
#include "dsl/document_ranges.h"
#include "dsl/linear.h"
#include "dsl/merge.h"
#include "dsl/normalization.h"
#include "dsl/position.h"
#include "dsl/score.h"
#include "dsl/softmax.h"
#include "schedules/machine.h"

namespace attune::schedules {

/** A named schedule: how a declaration `Declared` is computed. */
template <typename Declared> struct Schedule {
    const char *name;
    const char *device;  // "x86" or "cuda"
    const char *summary; // one line for people
    void (*apply)(const Declared &declared, const Machine &machine);
};

/** One that also says how the declaration is cut into blocks, by the machine and by `Of`. */
template <typename Declared, typename Shape, typename... Of> struct ShapedSchedule {
    const char *name;
    const char *device;
    const char *summary;
    Shape (*shape)(const Machine &machine, Of... of);
    void (*apply)(const Declared &declared, const Machine &machine);
};

using HeadDim = int; // 0: any
using Keys = const Halide::Expr &;

using AttentionSchedule = ShapedSchedule<dsl::Attention, dsl::Blocking, HeadDim, Keys>;
using SimtSchedule = ShapedSchedule<dsl::SimtAttention, dsl::SimtBlocking, HeadDim, Keys>;
using DecodeSchedule = ShapedSchedule<dsl::Decode, dsl::DecodeBlocking, HeadDim, const dsl::AttentionInputs &>;
using WeightsSchedule = Schedule<dsl::AttentionWeights>;
using SoftmaxSchedule = ShapedSchedule<dsl::Softmax, dsl::SoftmaxShape, const dsl::SoftmaxInputs &>;
using LinearSchedule = ShapedSchedule<dsl::Linear, dsl::LinearBlocking>;
using MergeSchedule = Schedule<dsl::Merge>;
using NormSchedule = ShapedSchedule<dsl::Norm, dsl::NormShape>;
using RowSumSchedule = Schedule<dsl::RowSum>;
using SlopesSchedule = Schedule<dsl::AlibiSlopes>;
using RelativeBiasSchedule = Schedule<dsl::RelativeBias>;
using RotarySchedule = ShapedSchedule<dsl::Rotary, dsl::RotaryShape>;
using RotaryTableSchedule = Schedule<dsl::RotaryTable>;
using SinusoidalSchedule = Schedule<dsl::Sinusoidal>;
using TokenPositionsSchedule = Schedule<dsl::TokenPositions>;
using AddPositionsSchedule = Schedule<dsl::AddPositions>;
using CacheWriteSchedule = Schedule<dsl::CacheWrite>;
using CacheCountsSchedule = Schedule<dsl::CacheCounts>;
using DocumentRangesSchedule = ShapedSchedule<dsl::DocumentRanges, int>; // shape: lanes

const std::vector<AttentionSchedule> &attention_schedules();
const std::vector<SimtSchedule> &simt_schedules();     // of attention, in the form for blocks of threads
const std::vector<DecodeSchedule> &decode_schedules(); // of attention, in the form for few queries
const std::vector<WeightsSchedule> &weights_schedules();
const std::vector<SoftmaxSchedule> &softmax_schedules();
const std::vector<SoftmaxSchedule> &softmax_columns_schedules(); // where another axis than that of the softmax is contiguous
const std::vector<LinearSchedule> &linear_schedules();
const std::vector<MergeSchedule> &merge_schedules();
const std::vector<NormSchedule> &norm_schedules();
const std::vector<RowSumSchedule> &row_sum_schedules();
const std::vector<SlopesSchedule> &slopes_schedules();
const std::vector<RelativeBiasSchedule> &relative_bias_schedules();
const std::vector<RotarySchedule> &rotary_schedules();
const std::vector<RotaryTableSchedule> &rotary_table_schedules();
const std::vector<SinusoidalSchedule> &sinusoidal_schedules();
const std::vector<TokenPositionsSchedule> &token_positions_schedules();
const std::vector<AddPositionsSchedule> &add_positions_schedules();
const std::vector<CacheWriteSchedule> &cache_write_schedules();
const std::vector<CacheCountsSchedule> &cache_counts_schedules();
const std::vector<DocumentRangesSchedule> &document_ranges_schedules();

/** The names in a table of the schedules for a device, comma-separated. */
template <typename Entry> std::string names(const std::vector<Entry> &table, const std::string &device = "x86") {
    std::string list;
    for (const Entry &entry : table)
        if (entry.device == device) list += (list.empty() ? "" : ", ") + std::string(entry.name);
    return list;
}

/** The entry of that name and device, or nullptr. */
template <typename Entry> const Entry *find(const std::vector<Entry> &table, const std::string &name, const std::string &device = "x86") {
    for (const Entry &entry : table)
        if (entry.name == name && entry.device == device) return &entry;
    return nullptr;
}

} // namespace attune::schedules
