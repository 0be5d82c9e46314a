#include <algorithm>

#include "runtime/src/attention/cache.h"
#include "runtime/src/attention/checks.h"
#include "runtime/src/cuda/cache.h"
#include "runtime/src/divided_up.h"
#include "runtime/src/error.h"
#include "runtime/src/tensor/integers.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

using text::Alignment;
using text::MaskKind;
using text::MaskNode;

Status check_scale(const attune_cache &cache, const attune_tensor *scale, const char *name, bool int8) {
    if (!int8) {
        ATTUNE_REQUIRE(!scale, "{} is given; only a cache of i8 has scales, and the plan's is of {}", name, attune_type_name(cache.k.type));
        return {};
    }
    ATTUNE_REQUIRE(scale, "{} is NULL; a cache of i8 needs scales", name);
    ATTUNE_TRY(check_tensor(*scale, {name, ATTUNE_F32, 3, 3, Role::output, false}));
    return check_extents(
        *scale, name, {{cache.k.extent[0], "the pages of cache.k"}, {cache.k.extent[1], "its heads"}, {cache.k.extent[2], "its tokens"}});
}

Status check_tensors(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    const attune_cache &cache = *args.cache;
    const attune_type type = plan.kernel->cache_dtype;
    ATTUNE_TRY(check_tensor(cache.k, {"cache.k", type, 4, 4, Role::output, true, plan.device}));
    ATTUNE_TRY(check_tensor(cache.v, {"cache.v", type, 4, 4, Role::output, true, plan.device}));
    const int64_t pages = cache.block_table ? cache.k.extent[0] : s.batch;
    ATTUNE_REQUIRE(pages > 0 || s.batch == 0, "cache.k.extent[0] is 0; it must be 1 or more pages");
    ATTUNE_TRY(check_extents(cache.k, "cache.k",
                             {{pages, "the batch of q: there is no block table"},
                              {s.kv_heads, "the heads of k"},
                              {cache.k.extent[2], ""},
                              {s.head_dim, "the plan's head_dim"}}));
    ATTUNE_TRY(check_extents(cache.v, "cache.v",
                             {{pages, "as in cache.k"},
                              {s.kv_heads, "the heads of k"},
                              {cache.k.extent[2], "as in cache.k"},
                              {s.value_dim, "the plan's value_dim"}}));
    ATTUNE_TRY(check_scale(cache, cache.k_scale, "cache.k_scale", type == ATTUNE_I8));
    return check_scale(cache, cache.v_scale, "cache.v_scale", type == ATTUNE_I8);
}

/** Its form; what stands in it is looked at later. */
Status check_table_form(const attune_attention_plan &plan, const attune_cache &cache, const AttentionShape &s) {
    if (!cache.block_table) return {};
    const attune_tensor &table = *cache.block_table;
    if (plan.device == ATTUNE_CUDA)
        ATTUNE_TRY(check_tensor(table, {"cache.block_table", ATTUNE_I32, 2, 2, Role::input, false, ATTUNE_CUDA}));
    else
        ATTUNE_TRY(check_integers(table, "cache.block_table", 2));
    ATTUNE_REQUIRE(table.extent[0] == s.batch, "cache.block_table.extent[0] is {}; it must be {}, the batch of q", table.extent[0],
                   s.batch);
    return {};
}

Status check_new_tokens(const attune_cache &cache, const AttentionShape &s) {
    ATTUNE_REQUIRE(cache.new_tokens < 0 || s.new_keys == cache.new_tokens,
                   "k has {} new tokens; it must be {}, cache.new_tokens: as many as attune_kv_cache_begin was asked for", s.new_keys,
                   cache.new_tokens);
    return {};
}

Status check_capacity(const attune_cache &cache) {
    const int64_t limit = INT32_MAX / (cache.ring ? 2 : 1);
    ATTUNE_REQUIRE(cache_capacity(cache) <= limit, "the cache has room for {} tokens an item; it must be at most {}", cache_capacity(cache),
                   limit);
    return {};
}

Status check_lengths(const attune_cache &cache, const AttentionShape &s) {
    ATTUNE_TRY(check_integers(cache.lengths, "cache.lengths", 1));
    ATTUNE_TRY(check_extents(cache.lengths, "cache.lengths", {{s.batch, "the batch of q"}}));
    const int64_t capacity = cache_capacity(cache), most = cache.ring ? INT32_MAX : capacity;
    ATTUNE_REQUIRE(s.new_keys <= capacity, "k has {} new tokens; they must be at most {}, the cache's capacity", s.new_keys, capacity);
    for (int64_t b = 0; b < s.batch; ++b) {
        const int64_t length = read_integer(cache.lengths, b);
        ATTUNE_REQUIRE(length >= 0, "cache.lengths[{}] is {}; it must be 0 or more", b, length);
        ATTUNE_REQUIRE(length <= most - s.new_keys, "cache.lengths[{}] is {}; with {} new tokens it must be at most {}, so that they {}", b,
                       length, s.new_keys, most - s.new_keys, cache.ring ? "are counted in 32 bits" : "fit in the cache's capacity");
    }
    return {};
}

/** The entries that tokens of item b need: the first ones. */
int64_t entries_of(const attune_cache &cache, const AttentionShape &s, int64_t b) {
    return divided_up(std::min(read_integer(cache.lengths, b) + s.new_keys, cache_capacity(cache)), cache.k.extent[2]);
}

Status check_table(const attune_cache &cache, const AttentionShape &s) {
    if (!cache.block_table) return {};
    const attune_tensor &table = *cache.block_table;
    const int64_t pages = cache.k.extent[0];
    for (int64_t b = 0; cache.k.extent[2] > 0 && b < s.batch; ++b)
        for (int64_t p = 0; p < entries_of(cache, s, b); ++p) {
            const int64_t page = read_integer(table, b, p);
            ATTUNE_REQUIRE(page >= 0 && page < pages, "cache.block_table[{}, {}] is {}; it must be 0 to {}, a page of cache.k", b, p, page,
                           pages - 1);
        }
    return {};
}

/** The first term anywhere in a mask for which `wanted` holds. */
template <typename Wanted> const MaskNode *find_term(const MaskNode &node, const Wanted &wanted) {
    if (node.operands.empty()) return wanted(node) ? &node : nullptr;
    for (const MaskNode &operand : node.operands)
        if (const MaskNode *found = find_term(operand, wanted)) return found;
    return nullptr;
}

/** Whether an alignment that a term names is of no use: bottom_right counts from the end of the capacity, which isn't that of an item's
 * tokens, and in a ring nothing counts from the first key. */
bool is_misplaced(Alignment alignment, bool ring) {
    return alignment == Alignment::bottom_right || (ring && alignment != Alignment::unnamed);
}

Status check_alignments(const attune_attention_plan &plan, bool ring) {
    bool misplaced = is_misplaced(plan.position.alignment, false);
    for (const text::ScoreTerm &term : plan.score.terms)
        misplaced = misplaced || is_misplaced(term.alignment, ring);
    for (const PlanMask *mask : {&plan.run_time_mask, &plan.kernel_mask})
        misplaced = misplaced || find_term(mask->mask.root, [ring](const MaskNode &term) { return is_misplaced(term.alignment, ring); });
    ATTUNE_REQUIRE(!misplaced,
                   "the plan's mask, score or position names {}; with a {} queries stand at the end of their item's tokens, or at "
                   "the offset given: name no alignment",
                   ring ? "an alignment" : "bottom_right", ring ? "ring" : "cache");
    return {};
}

bool holds_in_ring(const MaskNode &term) {
    return term.kind == MaskKind::none || term.kind == MaskKind::causal || term.kind == MaskKind::window ||
           term.kind == MaskKind::dilated || term.kind == MaskKind::lengths || term.kind == MaskKind::tensor;
}

Status check_ring_masks(const attune_attention_plan &plan, const attune_attention_args &args) {
    for (const PlanMask *mask : {&plan.run_time_mask, &plan.kernel_mask}) {
        const MaskNode *term = find_term(mask->mask.root, [](const MaskNode &t) { return !holds_in_ring(t); });
        ATTUNE_REQUIRE(!term, "the mask names {}; over a ring it may name causal, window, dilated, lengths and tensor",
                       text::name_of(term->kind));
        ATTUNE_REQUIRE(!mask->opaque, "the kernel {} has a mask written in C++; over a ring only masks of text can be relied on",
                       plan.kernel->name);
    }
    for (const auto &[tensor, name] : {std::pair{args.boolean_mask, "boolean_mask"}, {args.bias, "bias"}})
        ATTUNE_REQUIRE(!tensor || tensor->rank != 4 || tensor->extent[3] == 1,
                       "{}.extent[3] is {}; over a ring, whose keys have no columns, it must be 1", name, tensor->extent[3]);
    return {};
}

Status check_ring_rules(const attune_attention_plan &plan, const attune_attention_args &args) {
    ATTUNE_TRY(check_ring_masks(plan, args));
    ATTUNE_REQUIRE(!args.weights && !args.scores, "{} is given; a ring's keys have no columns to write to",
                   args.weights ? "weights" : "scores");
    ATTUNE_REQUIRE(args.dropout == 0, "dropout is {}; over a ring it must be 0", args.dropout);
    return {};
}

Status check_plan(const attune_attention_plan &plan, const attune_attention_args &args) {
    ATTUNE_REQUIRE(!args.key_lengths, "key_lengths is given; with a cache it must be NULL, for cache.lengths counts the keys");
    if (plan.position_compiled_in)
        return fail(ATTUNE_UNSUPPORTED,
                    "the kernel {} has the position \"{}\" compiled in, and would apply it to what the cache holds; give it as text to a "
                    "plan without that kernel",
                    plan.kernel->name, plan.kernel->position);
    ATTUNE_TRY(check_alignments(plan, args.cache->ring != 0));
    return args.cache->ring ? check_ring_rules(plan, args) : Status();
}

} // namespace

Status check_cache(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    if (!args.cache) {
        ATTUNE_REQUIRE(plan.kernel->cache_dtype != ATTUNE_I8,
                       "cache is NULL; the plan's kernel {} reads keys and values of i8, from a cache", plan.kernel->name);
        return {};
    }
    ATTUNE_TRY(check_struct(args.cache, "cache", "attune_cache_init"));
    const bool on_gpu = plan.device == ATTUNE_CUDA;
    if (on_gpu) ATTUNE_TRY(check_cache_kind(*args.cache));
    ATTUNE_TRY(check_plan(plan, args));
    if (!on_gpu) ATTUNE_TRY(check_given_offsets(args, s));
    ATTUNE_TRY(check_tensors(plan, args, s));
    ATTUNE_TRY(check_table_form(plan, *args.cache, s));
    ATTUNE_TRY(check_new_tokens(*args.cache, s));
    ATTUNE_TRY(check_capacity(*args.cache));
    if (on_gpu) return check_device_cache(args, s);
    ATTUNE_TRY(check_lengths(*args.cache, s));
    return check_table(*args.cache, s);
}

} // namespace attune::runtime
