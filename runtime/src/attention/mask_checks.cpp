#include "runtime/src/attention/checks.h"

#include "runtime/src/divided_up.h"
#include "runtime/src/error.h"
#include "runtime/src/tensor/integers.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

using text::MaskKind;

bool names(const attune_attention_plan &plan, MaskKind kind) { return plan.run_time_mask.names(kind) || plan.kernel_mask.names(kind); }

/** A tensor that only one term reads is a mistake without it. What a mask written in C++ reads isn't known. */
Status check_wanted(const attune_attention_plan &plan, MaskKind kind, const attune_tensor *tensor, const char *name) {
    ATTUNE_REQUIRE(!tensor || names(plan, kind) || plan.kernel_mask.opaque, "{} is given; the mask has no term {} that it is for", name,
                   text::name_of(kind));
    return {};
}

/** One integer, i32 or i64, for each batch item. */
Status check_per_item(const attune_tensor *tensor, const char *name, const AttentionShape &s) {
    if (!tensor) return {};
    ATTUNE_TRY(check_integers(*tensor, name, 1));
    return check_extents(*tensor, name, {{s.batch, "the batch of q"}});
}

Status check_lengths(const attune_attention_plan &plan, const attune_tensor *lengths, const AttentionShape &s) {
    ATTUNE_TRY(check_needed(plan, MaskKind::lengths, lengths, "key_lengths"));
    ATTUNE_TRY(check_per_item(lengths, "key_lengths", s));
    for (int64_t b = 0; lengths && b < s.batch; ++b) {
        const int64_t length = read_integer(*lengths, b);
        ATTUNE_REQUIRE(length >= 0 && length <= s.keys, "key_lengths[{}] is {}; it must be 0 to M = {}", b, length, s.keys);
    }
    return {};
}

/** Ids of all keys or queries: [B, tokens] or [1, tokens]; on a GPU i32. */
Status check_ids(const attune_tensor *ids, const char *name, int64_t batch, int64_t tokens, const char *reason, attune_device device) {
    if (!ids) return {};
    ATTUNE_TRY(device == ATTUNE_CPU ? check_integers(*ids, name, 2)
                                    : check_tensor(*ids, {name, ATTUNE_I32, 2, 2, Role::input, false, device}));
    ATTUNE_REQUIRE(ids->extent[0] == batch || ids->extent[0] == 1, "{}.extent[0] is {}; it must be 1 or {}, the batch of q", name,
                   ids->extent[0], batch);
    ATTUNE_REQUIRE(ids->extent[1] == tokens, "{}.extent[1] is {}; it must be {}, {}", name, ids->extent[1], tokens, reason);
    return {};
}

/** Rising from 0 to M; a document may be empty. */
Status check_starts(const attune_tensor &starts, const AttentionShape &s) {
    ATTUNE_TRY(check_integers(starts, "document_starts", 1));
    const int64_t count = starts.extent[0];
    ATTUNE_REQUIRE(count >= 1, "document_starts.extent[0] is 0; it must be the number of documents plus 1");
    ATTUNE_REQUIRE(s.queries == s.keys, "document_starts is for N = M; N is {} and M is {}: give documents and query_documents instead",
                   s.queries, s.keys);
    int64_t before = 0;
    for (int64_t i = 0; i < count; ++i) {
        const int64_t start = read_integer(starts, i);
        ATTUNE_REQUIRE(i > 0 || start == 0, "document_starts[0] is {}; it must be 0", start);
        ATTUNE_REQUIRE(start >= before && start <= s.keys, "document_starts[{}] is {}; it must be {} to M = {}", i, start, before, s.keys);
        before = start;
    }
    ATTUNE_REQUIRE(before == s.keys, "document_starts[{}] is {}; the last one must be M = {}", count - 1, before, s.keys);
    return {};
}

Status check_documents(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    const bool given = args.documents || args.document_starts;
    ATTUNE_TRY(check_needed(plan, MaskKind::documents, given, "documents or document_starts"));
    ATTUNE_TRY(check_wanted(plan, MaskKind::documents, args.documents, "documents"));
    ATTUNE_TRY(check_wanted(plan, MaskKind::documents, args.query_documents, "query_documents"));
    ATTUNE_TRY(check_wanted(plan, MaskKind::documents, args.document_starts, "document_starts"));
    ATTUNE_REQUIRE(!args.document_starts || (!args.documents && !args.query_documents),
                   "document_starts is given and {} too; only one of the two forms may be",
                   args.documents ? "documents" : "query_documents");
    ATTUNE_TRY(check_document_ids(args, s, ATTUNE_CPU));
    return args.document_starts ? check_starts(*args.document_starts, s) : Status();
}

Status check_block_map(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    ATTUNE_TRY(check_needed(plan, MaskKind::blocks, args.block_map, "block_map"));
    ATTUNE_TRY(check_wanted(plan, MaskKind::blocks, args.block_map, "block_map"));
    if (!args.block_map) return {};
    const attune_tensor &map = *args.block_map;
    ATTUNE_TRY(check_tensor(map, {"block_map", ATTUNE_BOOL, 4, 4, Role::input, false}));
    ATTUNE_TRY(check_broadcast(map, "block_map", {{s.batch, "the batch of q"}, {s.heads, "the heads of q"}}));
    BlockSize size = {0, 0};
    ATTUNE_TRY(find_block_size(plan.run_time_mask, plan.kernel_mask, args.params, size));
    if (size.queries == 0) return {}; // a mask written in C++ knows
    const int64_t rows = divided_up(s.queries, size.queries), columns = divided_up(s.keys, size.keys);
    ATTUNE_REQUIRE(map.extent[2] == rows, "block_map.extent[2] is {}; it must be {}, N = {} in blocks of {}", map.extent[2], rows,
                   s.queries, size.queries);
    ATTUNE_REQUIRE(map.extent[3] == columns, "block_map.extent[3] is {}; it must be {}, M = {} in blocks of {}", map.extent[3], columns,
                   s.keys, size.keys);
    return {};
}

Status check_offsets(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    ATTUNE_TRY(check_given_offsets(args, s));
    const bool given = args.has_offset || args.offsets;
    ATTUNE_TRY(check_alignment(plan.run_time_mask, s.queries, s.keys, given));
    return check_alignment(plan.kernel_mask, s.queries, s.keys, given);
}

} // namespace

Status check_document_ids(const attune_attention_args &args, const AttentionShape &s, attune_device device) {
    ATTUNE_REQUIRE(!args.query_documents || args.documents, "query_documents is given and documents is NULL; keys need ids too");
    ATTUNE_TRY(check_ids(args.documents, "documents", s.batch, s.keys, "the keys of k", device));
    ATTUNE_TRY(check_ids(args.query_documents, "query_documents", s.batch, s.queries, "the queries of q", device));
    ATTUNE_REQUIRE(!args.documents || args.query_documents || s.queries == s.keys,
                   "query_documents is NULL, and N = {} differs from M = {}; queries need ids of their own", s.queries, s.keys);
    return {};
}

Status check_needed(const attune_attention_plan &plan, MaskKind kind, bool given, const char *tensors) {
    ATTUNE_REQUIRE(given || !names(plan, kind), "the mask names {}, which needs {}; none is given", text::name_of(kind), tensors);
    return {};
}

Status check_params(const attune_attention_plan &plan, const attune_attention_args &args) {
    const int32_t wanted = plan.kernel->param_count;
    ATTUNE_REQUIRE(args.param_count == wanted, "param_count is {}; the kernel {} takes {}", args.param_count, plan.kernel->name, wanted);
    ATTUNE_REQUIRE(wanted == 0 || args.params, "params is NULL; the kernel {} takes {}", plan.kernel->name, wanted);
    return check_parameters(plan.kernel_mask, args.params);
}

Status check_offset(const attune_attention_args &args) {
    ATTUNE_REQUIRE(args.has_offset || args.offset == 0, "offset is {} and has_offset is 0; with has_offset 1 it counts", args.offset);
    ATTUNE_REQUIRE(!args.offsets || !args.has_offset, "offset is {} and offsets is given too; only one may be", args.offset);
    return {};
}

Status check_given_offsets(const attune_attention_args &args, const AttentionShape &s) {
    ATTUNE_TRY(check_offset(args));
    return check_per_item(args.offsets, "offsets", s);
}

Status check_masks(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    ATTUNE_TRY(check_params(plan, args));
    ATTUNE_TRY(check_needed(plan, MaskKind::tensor, args.boolean_mask, "boolean_mask"));
    ATTUNE_TRY(check_score_tensor(args.boolean_mask, "boolean_mask", ATTUNE_BOOL, s));
    ATTUNE_TRY(check_lengths(plan, args.key_lengths, s));
    ATTUNE_TRY(check_documents(plan, args, s));
    ATTUNE_TRY(check_block_map(plan, args, s));
    return check_offsets(plan, args, s);
}

} // namespace attune::runtime
