#include "runtime/src/attention/checks.h"

#include "runtime/src/error.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

Status check_main_tensors(const attune_attention_args &args, attune_type type, attune_device device) {
    ATTUNE_TRY(check_tensor(args.q, {"q", type, 4, 4, Role::input, true, device}));
    ATTUNE_TRY(check_tensor(args.k, {"k", type, 4, 4, Role::input, true, device}));
    ATTUNE_TRY(check_tensor(args.v, {"v", type, 4, 4, Role::input, true, device}));
    return check_tensor(args.out, {"out", type, 4, 4, Role::output, true, device});
}

AttentionShape shape_of(const attune_attention_plan &plan, const attune_attention_args &args) {
    return {args.q.extent[0], args.q.extent[1], args.k.extent[1], args.q.extent[2],
            args.k.extent[2], args.k.extent[2], plan.head_dim,    plan.value_dim};
}

Status check_shape(const AttentionShape &s, const attune_attention_args &args) {
    ATTUNE_REQUIRE(args.q.extent[3] == s.head_dim, "q.extent[3] is {}; it must be {}, the plan's head_dim", args.q.extent[3], s.head_dim);
    ATTUNE_TRY(check_extents(
        args.k, "k",
        {{s.batch, "the batch of q"}, {s.kv_heads, "its heads"}, {s.new_keys, "its keys"}, {s.head_dim, "the plan's head_dim"}}));
    ATTUNE_TRY(check_extents(args.v, "v",
                             {{s.batch, "the batch of q"},
                              {s.kv_heads, "the heads of k"},
                              {s.new_keys, "the keys of k"},
                              {s.value_dim, "the plan's value_dim"}}));
    ATTUNE_TRY(check_extents(args.out, "out",
                             {{s.batch, "the batch of q"},
                              {s.heads, "the heads of q"},
                              {s.queries, "the queries of q"},
                              {s.value_dim, "the plan's value_dim"}}));
    ATTUNE_REQUIRE(s.kv_heads > 0 ? s.heads % s.kv_heads == 0 : s.heads == 0,
                   "q has {} heads; they must be a multiple of the {} heads of k and v", s.heads, s.kv_heads);
    return {};
}

/** Weights or scores: f32 [B,Hq,N,M]. */
Status check_score_output(const attune_attention_plan &plan, const attune_tensor *tensor, const char *name, const AttentionShape &s) {
    if (!tensor) return {};
    ATTUNE_TRY(plan.weights_status);
    ATTUNE_TRY(check_tensor(*tensor, {name, ATTUNE_F32, 4, 4, Role::output, true}));
    return check_extents(*tensor, name,
                         {{s.batch, "the batch of q"},
                          {s.heads, "the heads of q"},
                          {s.queries, "the queries of q"},
                          {s.keys, "the keys of k or the cache"}});
}

Status check_optional_outputs(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    ATTUNE_TRY(check_lse(args.lse, s, ATTUNE_CPU));
    ATTUNE_TRY(check_score_output(plan, args.weights, "weights", s));
    ATTUNE_TRY(check_score_output(plan, args.scores, "scores", s));
    const int stage = raw_value(args.score_stage);
    ATTUNE_REQUIRE(!args.scores || (stage >= ATTUNE_SCORES_SCALED && stage <= ATTUNE_SCORES_MASKED),
                   "score_stage is {}; it must be ATTUNE_SCORES_SCALED ({}), ATTUNE_SCORES_CAPPED ({}) or ATTUNE_SCORES_MASKED ({})", stage,
                   static_cast<int>(ATTUNE_SCORES_SCALED), static_cast<int>(ATTUNE_SCORES_CAPPED), static_cast<int>(ATTUNE_SCORES_MASKED));
    return {};
}

} // namespace

Status check_lse(const attune_tensor *lse, const AttentionShape &s, attune_device device) {
    if (!lse) return {};
    ATTUNE_TRY(check_tensor(*lse, {"lse", ATTUNE_F32, 3, 3, Role::output, true, device}));
    return check_extents(*lse, "lse", {{s.batch, "the batch of q"}, {s.heads, "the heads of q"}, {s.queries, "the queries of q"}});
}

Status check_score_tensor(const attune_tensor *tensor, const char *name, attune_type type, const AttentionShape &s, attune_device device) {
    if (!tensor) return {};
    ATTUNE_TRY(check_tensor(*tensor, {name, type, 4, 4, Role::input, false, device}));
    return check_broadcast(*tensor, name,
                           {{s.batch, "the batch of q"},
                            {s.heads, "the heads of q"},
                            {s.queries, "the queries of q"},
                            {s.keys, "the keys of k or the cache"}});
}

Status check_operands(const attune_attention_plan &plan, const attune_attention_args &args, AttentionShape &shape) {
    ATTUNE_TRY(check_main_tensors(args, plan.kernel->dtype, plan.device));
    shape = shape_of(plan, args);
    ATTUNE_TRY(check_shape(shape, args));
    ATTUNE_TRY(check_cache(plan, args, shape));
    if (args.cache) shape.keys = cache_keys(*args.cache);
    ATTUNE_REQUIRE(shape.queries <= most_tokens - shape.keys, "there are {} queries and {} keys; together they must be at most {}",
                   shape.queries, shape.keys, most_tokens);
    return check_count("the score of all heads, queries and keys", {shape.batch, shape.heads, shape.queries, shape.keys});
}

Status check_attention(const attune_attention_plan &plan, const RunCache &cache, const AttentionShape &shape) {
    const attune_attention_args &args = cache.args();
    ATTUNE_TRY(check_optional_outputs(plan, args, shape));
    ATTUNE_TRY(check_masks(plan, args, shape));
    ATTUNE_TRY(check_scores(plan, cache, shape));
    return check_overlaps(args, cache.given_offsets());
}

} // namespace attune::runtime
