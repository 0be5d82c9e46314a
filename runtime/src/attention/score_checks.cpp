#include <cmath>

#include "runtime/src/attention/checks.h"
#include "runtime/src/attention/operands.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

using text::ScoreKind;

Status check_softcap(const attune_attention_plan &plan, float softcap) {
    ATTUNE_REQUIRE(std::isfinite(softcap) && softcap >= 0, "softcap is {}; it must be 0 (none) or more, and finite", softcap);
    const text::ScoreTerm *term = plan.score.find(ScoreKind::softcap);
    ATTUNE_REQUIRE(!term || softcap == 0, "softcap is {} and the score names softcap({}); only one may be", softcap, term->cap);
    return {};
}

} // namespace

Status check_numbers(const attune_attention_plan &plan, const attune_attention_args &args) {
    ATTUNE_REQUIRE(args.has_scale || args.scale == 0, "scale is {} and has_scale is 0; with has_scale 1 it counts", args.scale);
    ATTUNE_REQUIRE(!args.has_scale || std::isfinite(args.scale), "scale is {}; it must be finite", args.scale);
    ATTUNE_TRY(check_softcap(plan, args.softcap));
    ATTUNE_REQUIRE(args.temperature > 0, "temperature is {}; it must be above 0", args.temperature);
    ATTUNE_REQUIRE(args.dropout >= 0 && args.dropout < 1, "dropout is {}; it must be 0 or more, and below 1", args.dropout);
    return {};
}

Status check_sinks(const attune_tensor *sinks, const AttentionShape &s, attune_device device) {
    if (!sinks) return {};
    ATTUNE_TRY(check_tensor(*sinks, {"sinks", ATTUNE_F32, 1, 1, Role::input, false, device}));
    return check_extents(*sinks, "sinks", {{s.heads, "the heads of q"}});
}

Status check_scores(const attune_attention_plan &plan, const RunCache &cache, const AttentionShape &s) {
    const attune_attention_args &args = cache.args();
    const bool offset_given = args.has_offset || args.offsets;
    ATTUNE_TRY(check_numbers(plan, args));
    ATTUNE_REQUIRE(args.bias || !plan.score.find(ScoreKind::bias), "the score names bias, which needs a tensor bias; none is given");
    ATTUNE_TRY(check_score_tensor(args.bias, "bias", ATTUNE_F32, s));
    ATTUNE_TRY(check_t5_table(args.t5_table, plan.score, s.heads));
    ATTUNE_TRY(check_sinks(args.sinks, s, ATTUNE_CPU));
    ATTUNE_TRY(check_score_alignment(plan.score, s.queries, s.keys, offset_given));
    return check_position_input(position_input(plan, cache, s), offset_given);
}

} // namespace attune::runtime
