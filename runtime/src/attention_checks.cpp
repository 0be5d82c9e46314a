#include "attention_checks.h"

#include <cmath>

#include "error.h"
#include "interval_table.h"
#include "overlap.h"
#include "tensor.h"

namespace attune::runtime {

namespace {

Status check_main_tensors(const attune_attention_args &args, attune_type type) {
    ATTUNE_TRY(check_tensor(args.q, {"q", type, 4, 4, Role::input, true}));
    ATTUNE_TRY(check_tensor(args.k, {"k", type, 4, 4, Role::input, true}));
    ATTUNE_TRY(check_tensor(args.v, {"v", type, 4, 4, Role::input, true}));
    return check_tensor(args.out, {"out", type, 4, 4, Role::output, true});
}

AttentionShape shape_of(const attune_attention_plan &plan, const attune_attention_args &args) {
    return {args.q.extent[0], args.q.extent[1], args.k.extent[1], args.q.extent[2], args.k.extent[2], plan.head_dim, plan.value_dim};
}

Status check_shape(const AttentionShape &s, const attune_attention_args &args) {
    ATTUNE_REQUIRE(args.q.extent[3] == s.head_dim, "q.extent[3] is {}; it must be {}, the plan's head_dim", args.q.extent[3], s.head_dim);
    ATTUNE_TRY(check_extents(
        args.k, "k", {{s.batch, "the batch of q"}, {s.kv_heads, "its heads"}, {s.keys, "its keys"}, {s.head_dim, "the plan's head_dim"}}));
    ATTUNE_TRY(check_extents(
        args.v, "v",
        {{s.batch, "the batch of q"}, {s.kv_heads, "the heads of k"}, {s.keys, "the keys of k"}, {s.value_dim, "the plan's value_dim"}}));
    ATTUNE_TRY(check_extents(args.out, "out",
                             {{s.batch, "the batch of q"},
                              {s.heads, "the heads of q"},
                              {s.queries, "the queries of q"},
                              {s.value_dim, "the plan's value_dim"}}));
    ATTUNE_REQUIRE(s.kv_heads > 0 ? s.heads % s.kv_heads == 0 : s.heads == 0,
                   "q has {} heads; they must be a multiple of the {} heads of k and v", s.heads, s.kv_heads);
    return check_count("the score of all heads, queries and keys", {s.batch, s.heads, s.queries, s.keys});
}

Status check_optional_outputs(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    if (args.lse) {
        ATTUNE_TRY(check_tensor(*args.lse, {"lse", ATTUNE_F32, 3, 3, Role::output, true}));
        ATTUNE_TRY(
            check_extents(*args.lse, "lse", {{s.batch, "the batch of q"}, {s.heads, "the heads of q"}, {s.queries, "the queries of q"}}));
    }
    if (!args.weights) return {};
    ATTUNE_TRY(plan.weights_status);
    ATTUNE_TRY(check_tensor(*args.weights, {"weights", ATTUNE_F32, 4, 4, Role::output, true}));
    return check_extents(
        *args.weights, "weights",
        {{s.batch, "the batch of q"}, {s.heads, "the heads of q"}, {s.queries, "the queries of q"}, {s.keys, "the keys of k"}});
}

Status check_score_tensor(const attune_tensor *tensor, const char *name, attune_type type, const AttentionShape &s) {
    if (!tensor) return {};
    ATTUNE_TRY(check_tensor(*tensor, {name, type, 4, 4, Role::input, false}));
    return check_broadcast(
        *tensor, name,
        {{s.batch, "the batch of q"}, {s.heads, "the heads of q"}, {s.queries, "the queries of q"}, {s.keys, "the keys of k"}});
}

/** One integer, i32 or i64, for each batch item. */
Status check_per_item(const attune_tensor *tensor, const char *name, const AttentionShape &s) {
    if (!tensor) return {};
    const bool wide = raw_value(tensor->type) == ATTUNE_I64;
    ATTUNE_REQUIRE(wide || raw_value(tensor->type) == ATTUNE_I32, "{}.type is {}; it must be ATTUNE_I32 ({}) or ATTUNE_I64 ({})", name,
                   raw_value(tensor->type), static_cast<int>(ATTUNE_I32), static_cast<int>(ATTUNE_I64));
    ATTUNE_TRY(check_tensor(*tensor, {name, wide ? ATTUNE_I64 : ATTUNE_I32, 1, 1, Role::input, false}));
    return check_extents(*tensor, name, {{s.batch, "the batch of q"}});
}

Status check_lengths(const attune_tensor *lengths, const AttentionShape &s) {
    ATTUNE_TRY(check_per_item(lengths, "key_lengths", s));
    for (int64_t b = 0; lengths && b < s.batch; ++b) {
        const int64_t length = read_integer(*lengths, b);
        ATTUNE_REQUIRE(length >= 0 && length <= s.keys, "key_lengths[{}] is {}; it must be 0 to M = {}", b, length, s.keys);
    }
    return {};
}

Status check_numbers(const attune_attention_args &args) {
    ATTUNE_REQUIRE(!args.has_scale || std::isfinite(args.scale), "scale is {}; it must be finite", args.scale);
    ATTUNE_REQUIRE(std::isfinite(args.softcap) && args.softcap >= 0, "softcap is {}; it must be 0 (none) or more, and finite",
                   args.softcap);
    ATTUNE_REQUIRE(args.temperature > 0, "temperature is {}; it must be above 0", args.temperature);
    return {};
}

Status check_params(const attune_attention_plan &plan, const attune_attention_args &args) {
    const int32_t wanted = plan.kernel->param_count;
    ATTUNE_REQUIRE(args.param_count == wanted, "param_count is {}; the kernel {} takes {}", args.param_count, plan.kernel->name, wanted);
    ATTUNE_REQUIRE(wanted == 0 || args.params, "params is NULL; the kernel {} takes {}", plan.kernel->name, wanted);
    return check_parameters(plan.kernel_mask, args.params);
}

Status check_offsets(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    ATTUNE_REQUIRE(!args.offsets || !args.has_offset, "offset is {} and offsets is given too; only one may be", args.offset);
    ATTUNE_TRY(check_per_item(args.offsets, "offsets", s));
    const bool given = args.has_offset || args.offsets;
    ATTUNE_TRY(check_alignment(plan.run_time_mask, s.queries, s.keys, given));
    return check_alignment(plan.kernel_mask, s.queries, s.keys, given);
}

struct Named {
    const attune_tensor *tensor;
    const char *name;
};

Status check_apart(const Named &output, const Named &other) {
    if (!output.tensor || !other.tensor || !may_overlap(*output.tensor, *other.tensor)) return {};
    return fail(ATTUNE_INVALID_ARGUMENT, "{} overlaps {} in memory; an output must be apart from inputs and other outputs", output.name,
                other.name);
}

Status check_overlaps(const attune_attention_args &args) {
    const int64_t param_count = args.param_count;
    const attune_tensor params = attune_contiguous(const_cast<int32_t *>(args.params), ATTUNE_I32, 1, &param_count);
    const Named outputs[] = {{&args.out, "out"}, {args.lse, "lse"}, {args.weights, "weights"}};
    const Named inputs[] = {{&args.q, "q"},
                            {&args.k, "k"},
                            {&args.v, "v"},
                            {args.boolean_mask, "boolean_mask"},
                            {args.bias, "bias"},
                            {args.key_lengths, "key_lengths"},
                            {args.offsets, "offsets"},
                            {&params, "params"}};
    for (const Named &output : outputs) {
        for (const Named &input : inputs)
            ATTUNE_TRY(check_apart(output, input));
        for (const Named *other = outputs; other != &output; ++other)
            ATTUNE_TRY(check_apart(output, *other));
    }
    return {};
}

} // namespace

Status check_attention(const attune_attention_plan &plan, const attune_attention_args &args, AttentionShape &shape) {
    ATTUNE_TRY(check_main_tensors(args, plan.kernel->dtype));
    shape = shape_of(plan, args);
    ATTUNE_TRY(check_shape(shape, args));
    ATTUNE_TRY(check_optional_outputs(plan, args, shape));
    ATTUNE_TRY(check_score_tensor(args.boolean_mask, "boolean_mask", ATTUNE_BOOL, shape));
    ATTUNE_TRY(check_score_tensor(args.bias, "bias", ATTUNE_F32, shape));
    ATTUNE_TRY(check_lengths(args.key_lengths, shape));
    ATTUNE_TRY(check_numbers(args));
    ATTUNE_TRY(check_params(plan, args));
    ATTUNE_TRY(check_offsets(plan, args, shape));
    return check_overlaps(args);
}

} // namespace attune::runtime
