#include "runtime/src/attention/operands.h"

#include <cmath>

namespace attune::runtime {

float scale_of(const attune_attention_args &args, int64_t head_dim) {
    return args.has_scale ? args.scale : static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
}

namespace {

using text::ScoreKind;

RelativeInput relative_input(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    return {s.batch, s.heads, s.queries, s.keys, &plan.score, args.has_offset ? args.offset : 0, args.offsets, args.t5_table};
}

bool has_relative_bias(const text::Score &score) { return score.find(ScoreKind::alibi) || score.find(ScoreKind::t5); }

} // namespace

float softcap_of(const attune_attention_plan &plan, const attune_attention_args &args) {
    const text::ScoreTerm *term = plan.score.find(text::ScoreKind::softcap);
    return term ? static_cast<float>(term->cap) : args.softcap;
}

PositionInput position_input(const attune_attention_plan &plan, const RunCache &cache, const AttentionShape &s) {
    const attune_attention_args &args = cache.args();
    PositionInput in = {&plan.position, s.batch, s.queries, s.new_keys, s.head_dim};
    in.offset = args.has_offset ? args.offset : 0, in.offsets = args.offsets;
    in.positions = args.positions, in.key_positions = args.key_positions, in.position_table = args.position_table;
    if (!cache.cache()) return in;
    in.offset = cache.offset(), in.offsets = cache.offsets();
    in.key_offset = cache.start(), in.key_offsets = cache.starts();
    in.keys_counted_from = CountedFrom::cache;
    if (!cache.offset_given()) in.counted_from = CountedFrom::cache_and_new;
    return in;
}

Status RunOperands::fill(const attune_attention_plan &plan, const RunCache &cache, const AttentionShape &s) {
    const attune_attention_args &args = cache.args();
    placed_q_ = args.q, placed_k_ = args.k;
    has_relative_ = has_relative_bias(plan.score);
    if (has_relative_ && s.queries > 0) ATTUNE_TRY(make_relative_bias(relative_input(plan, args, s), call_, relative_memory_, relative_));
    return plan.position.kind == text::PositionKind::none ? Status() : fill_positions(plan, cache, s);
}

Status RunOperands::fill_positions(const attune_attention_plan &plan, const RunCache &cache, const AttentionShape &s) {
    const attune_attention_args &args = cache.args();
    has_tables_ = true;
    ATTUNE_TRY(make_position_tables(position_input(plan, cache, s), call_, table_memory_, query_table_, key_table_));
    if (plan.position_compiled_in && !args.weights && !args.scores) return {};
    ATTUNE_TRY(apply_position(plan.position, args.q, query_table_, call_, query_memory_, placed_q_));
    return apply_position(plan.position, args.k, key_table_, call_, key_memory_, placed_k_);
}

} // namespace attune::runtime
