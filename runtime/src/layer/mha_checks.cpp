#include <algorithm>

#include "runtime/src/attention/tensors.h"
#include "runtime/src/error.h"
#include "runtime/src/layer/mha.h"
#include "runtime/src/tensor/integers.h"
#include "runtime/src/tensor/overlap.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

/** A tensor of rank 2, [tokens, channels], with a batch of 1 before it. */
attune_tensor with_batch(const attune_tensor &given) {
    if (given.rank == 3) return given;
    attune_tensor full = given;
    full.rank = 3;
    full.extent[0] = 1, full.extent[1] = given.extent[0], full.extent[2] = given.extent[1];
    full.stride[0] = given.extent[0] * given.stride[0], full.stride[1] = given.stride[0], full.stride[2] = given.stride[1];
    return full;
}

/** An input of the layer: what it is called, and how many channels it must have. */
struct Input {
    const char *name;
    const attune_linear *layer; // nullptr: taken as it is, heads side by side
    int64_t heads, width;
};

Status take_input(const attune_mha &mha, const attune_tensor &given, int32_t rank, const Input &input, attune_tensor &taken) {
    ATTUNE_TRY(check_tensor(given, {input.name, mha.dtype, rank, rank, Role::input, true}));
    taken = with_batch(given);
    const int64_t channels = taken.extent[2];
    if (!input.layer) {
        ATTUNE_REQUIRE(channels == input.heads * input.width, "{} has {} channels; it must have {}, of {} heads of width {}", input.name,
                       channels, input.heads * input.width, input.heads, input.width);
        return {};
    }
    ATTUNE_REQUIRE(channels == attune_linear_in(input.layer), "{} has {} channels; {}_weight takes {}", input.name, channels, input.name,
                   attune_linear_in(input.layer));
    return {};
}

Status check_rows(const attune_tensor &tensor, const char *name, const attune_tensor &like, const char *like_name, bool tokens) {
    ATTUNE_REQUIRE(tensor.extent[0] == like.extent[0], "{} has a batch of {}; it must be {}, as {} has", name, tensor.extent[0],
                   like.extent[0], like_name);
    ATTUNE_REQUIRE(!tokens || tensor.extent[1] == like.extent[1], "{} has {} tokens; it must have {}, as {} has", name, tensor.extent[1],
                   like.extent[1], like_name);
    return {};
}

Status take_inputs(const attune_mha &mha, const attune_mha_args &args, MhaOperands &operands) {
    ATTUNE_TRY(check_tensor(args.query, {"query", mha.dtype, 2, 3, Role::input, true}));
    const int32_t rank = args.query.rank;
    ATTUNE_REQUIRE(args.key || !args.value, "value is given; it must go with key");
    const attune_tensor &key = args.key ? *args.key : args.query;
    ATTUNE_TRY(take_input(mha, args.query, rank, {"query", mha.query.layer, mha.heads, mha.head_dim}, operands.query));
    ATTUNE_TRY(take_input(mha, key, rank, {"key", mha.key.layer, mha.kv_heads, mha.head_dim}, operands.key));
    ATTUNE_TRY(
        take_input(mha, args.value ? *args.value : key, rank, {"value", mha.value.layer, mha.kv_heads, mha.value_dim}, operands.value));
    ATTUNE_TRY(check_rows(operands.key, "key", operands.query, "query", false));
    return check_rows(operands.value, "value", operands.key, "key", true);
}

Status take_output(const attune_mha &mha, const attune_tensor &given, Role role, const char *name, const MhaOperands &operands,
                   int32_t rank, attune_tensor &taken) {
    ATTUNE_TRY(check_tensor(given, {name, mha.dtype, rank, rank, role, true}));
    taken = with_batch(given);
    ATTUNE_TRY(check_rows(taken, name, operands.query, "query", true));
    ATTUNE_REQUIRE(taken.extent[2] == mha.out, "{} has {} channels; the layer gives {}", name, taken.extent[2], mha.out);
    return {};
}

Status take_outputs(const attune_mha &mha, const attune_mha_args &args, MhaOperands &operands) {
    const int32_t rank = args.query.rank;
    ATTUNE_TRY(take_output(mha, args.out, Role::output, "out", operands, rank, operands.out));
    operands.residual = {};
    if (!args.residual) return {};
    ATTUNE_REQUIRE(mha.output != nullptr, "residual is given; a layer without output_weight has no place for it");
    ATTUNE_TRY(take_output(mha, *args.residual, Role::input, "residual", operands, rank, operands.residual));
    return check_place({&args.out, "out"}, {args.residual, "residual"});
}

/** What its capacity follows from is there. */
Status check_cache_ranks(const attune_cache &cache) {
    ATTUNE_REQUIRE(cache.k.rank == 4, "cache.k.rank is {}; it must be 4", cache.k.rank);
    ATTUNE_REQUIRE(!cache.block_table || cache.block_table->rank == 2, "cache.block_table.rank is {}; it must be 2",
                   cache.block_table->rank);
    return {};
}

/** The tokens of an item that a cache holds before the run. */
Status most_cached(const attune_cache &cache, int64_t &most) {
    ATTUNE_TRY(check_struct(&cache, "cache", "attune_cache_init"));
    ATTUNE_TRY(check_integers(cache.lengths, "cache.lengths", 1));
    most = 0;
    for (int64_t b = 0; b < cache.lengths.extent[0]; ++b)
        most = std::max(most, std::min<int64_t>(read_integer(cache.lengths, b), INT32_MAX)); // attention judges larger ones
    return {};
}

Status check_context(const attune_mha &mha, const attune_mha_args &args, const MhaOperands &operands) {
    if (mha.context_length == 0) return {};
    int64_t before = 0;
    if (args.attention.cache) ATTUNE_TRY(most_cached(*args.attention.cache, before));
    const int64_t keys = operands.new_keys() + before, longest = std::max(keys, operands.queries());
    ATTUNE_REQUIRE(longest <= mha.context_length, "{} has {} tokens{}; the layer's context_length is {}",
                   keys < operands.queries() || !args.key ? "query" : "key", longest, before > 0 ? ", those of the cache among them" : "",
                   mha.context_length);
    return {};
}

Status check_masks(const attune_mha_args &args) {
    const int polarity = raw_value(args.polarity);
    ATTUNE_REQUIRE((!args.mask && !args.key_padding) || polarity == ATTUNE_TRUE_ATTENDS || polarity == ATTUNE_TRUE_MASKS,
                   "polarity is {}; with mask or key_padding it must be ATTUNE_TRUE_ATTENDS ({}) or ATTUNE_TRUE_MASKS ({})", polarity,
                   static_cast<int>(ATTUNE_TRUE_ATTENDS), static_cast<int>(ATTUNE_TRUE_MASKS));
    ATTUNE_REQUIRE(!args.attention.boolean_mask || (!args.mask && !args.key_padding),
                   "attention.boolean_mask is given beside {}; it must be one of them", args.mask ? "mask" : "key_padding");
    const bool ring = args.attention.cache && args.attention.cache->ring;
    if (args.mask) {
        ATTUNE_TRY(check_tensor(*args.mask, {"mask", ATTUNE_BOOL, 2, 4, Role::input, false}));
        const int32_t rank = args.mask->rank;
        ATTUNE_REQUIRE(rank != 3, "mask.rank is 3; it must be 2, [N, M], or 4, [B, heads, N, M]");
        ATTUNE_REQUIRE(!ring || args.mask->extent[rank - 1] == 1,
                       "mask.extent[{}] is {}; over a ring, whose keys have no columns, it must be 1", rank - 1,
                       args.mask->extent[rank - 1]);
    }
    ATTUNE_REQUIRE(!ring || !args.key_padding, "key_padding is given; over a ring, whose keys have no columns, it must be NULL");
    return args.key_padding ? check_tensor(*args.key_padding, {"key_padding", ATTUNE_BOOL, 2, 2, Role::input, false}) : Status();
}

/** Each sound enough to be compared with others; attention checks what it must be. */
Status check_sound(const NamedTensors &tensors) {
    for (const NamedTensor &given : tensors) {
        ATTUNE_TRY(check_type(given.tensor->type, given.name, all_types));
        ATTUNE_TRY(check_tensor(*given.tensor, {given.name, given.tensor->type, 0, ATTUNE_MAX_RANK, Role::input, false}));
    }
    return {};
}

Status check_all_apart(const attune_mha_args &args, const MhaOperands &operands) {
    const NamedTensors others = outputs_beside_out(args.attention);
    NamedTensors outputs = {{&operands.out, "out"}};
    NamedTensors inputs = {{&operands.query, "query"},
                           {&operands.key, "key"},
                           {&operands.value, "value"},
                           {args.mask, "mask"},
                           {args.key_padding, "key_padding"}};
    outputs.add(others), inputs.add(inputs_beside_rows(args.attention));
    ATTUNE_TRY(check_sound(outputs));
    ATTUNE_TRY(check_sound(inputs));
    ATTUNE_TRY(check_apart(outputs, inputs));
    // It is read last, after all of them are written; out may be it.
    return operands.residual.data ? check_apart(others, {{&operands.residual, "residual"}}) : Status();
}

} // namespace

Status check_mha(const attune_mha &mha, const attune_mha_args &args, MhaOperands &operands) {
    ATTUNE_TRY(check_struct(&args.attention, "attention", "attune_mha_args_init"));
    ATTUNE_TRY(take_inputs(mha, args, operands));
    ATTUNE_TRY(take_outputs(mha, args, operands));
    if (args.attention.cache) ATTUNE_TRY(check_struct(args.attention.cache, "cache", "attune_cache_init"));
    ATTUNE_TRY(check_masks(args));
    ATTUNE_TRY(check_all_apart(args, operands));
    if (args.attention.cache) ATTUNE_TRY(check_cache_ranks(*args.attention.cache));
    return check_context(mha, args, operands);
}

} // namespace attune::runtime
