// The named schedules of each operation. An unknown name is an error that lists the known ones.
#pragma once

#include <string>
#include <vector>

#include "dsl/attention.h"
#include "dsl/attention_simt.h"
#include "dsl/attention_weights.h"
#include "dsl/cache.h"
#include "dsl/decode.h"
#include "dsl/document_ranges.h"
#include "dsl/linear.h"
#include "dsl/merge.h"
#include "dsl/normalization.h"
#include "dsl/position.h"
#include "dsl/score.h"
#include "dsl/softmax.h"
#include "schedules/machine.h"

namespace attune::schedules {

/** A named schedule of a declaration `Declared`: how it is cut into blocks (where there is a choice), and how it is computed. */
template <typename Declared, typename Shape, typename Problem = Halide::Expr> struct Schedule {
    const char *name;
    const char *device;  // "x86" or "cuda"
    const char *summary; // one line for people
    /** `problem` is what else it depends on: keys, rows or channels, or all inputs. */
    Shape (*shape)(const Machine &machine, int head_dim, const Problem &problem);
    void (*apply)(const Declared &declared, const Machine &machine);
};

using AttentionSchedule = Schedule<dsl::Attention, dsl::Blocking>;
using SimtSchedule = Schedule<dsl::SimtAttention, dsl::SimtBlocking>;
using DecodeSchedule = Schedule<dsl::Decode, dsl::DecodeBlocking, dsl::AttentionInputs>;
using WeightsSchedule = Schedule<dsl::AttentionWeights, int>; // of these, and others with an int, the shape says nothing
using SoftmaxSchedule = Schedule<dsl::Softmax, dsl::SoftmaxShape, dsl::SoftmaxInputs>;
using LinearSchedule = Schedule<dsl::Linear, dsl::LinearBlocking>;
using MergeSchedule = Schedule<dsl::Merge, int>;
using NormSchedule = Schedule<dsl::Norm, dsl::NormShape>;
using RowSumSchedule = Schedule<dsl::RowSum, int>;
using SlopesSchedule = Schedule<dsl::AlibiSlopes, int>;
using RelativeBiasSchedule = Schedule<dsl::RelativeBias, int>;
using RotarySchedule = Schedule<dsl::Rotary, dsl::RotaryShape>;
using RotaryTableSchedule = Schedule<dsl::RotaryTable, int>;
using SinusoidalSchedule = Schedule<dsl::Sinusoidal, int>;
using TokenPositionsSchedule = Schedule<dsl::TokenPositions, int>;
using AddPositionsSchedule = Schedule<dsl::AddPositions, int>;
using CacheWriteSchedule = Schedule<dsl::CacheWrite, int>;
using CacheCountsSchedule = Schedule<dsl::CacheCounts, int>;
using DocumentRangesSchedule = Schedule<dsl::DocumentRanges, int>; // shape: lanes

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
