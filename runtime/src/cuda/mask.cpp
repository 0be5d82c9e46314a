#include "runtime/src/cuda/mask.h"

#include <algorithm>

namespace attune::runtime {

namespace {

using text::Alignment;
using text::MaskKind;
using text::MaskNode;

int64_t limit_of(const text::Number &number) { return number.value < 0 ? no_limit : std::min(number.value, no_limit); }

Status read_node(const MaskNode &node, CudaMask &read) {
    switch (node.kind) {
    case MaskKind::none:
        return {};
    case MaskKind::causal:
        read.windows.push_back({no_limit, 0, node.alignment});
        return {};
    case MaskKind::window:
        read.windows.push_back({limit_of(node.numbers[0]), limit_of(node.numbers[1]), node.alignment});
        return {};
    case MaskKind::lengths:
        read.lengths = true;
        return {};
    case MaskKind::conjunction:
        for (const MaskNode &operand : node.operands)
            ATTUNE_TRY(read_node(operand, read));
        return {};
    default:
        const char *what = node.kind == MaskKind::negation ? "!" : node.kind == MaskKind::disjunction ? "|" : text::name_of(node.kind);
        return fail(ATTUNE_UNSUPPORTED, "the mask has {}; on device cuda it must be made of causal, window, lengths and & alone", what);
    }
}

/** The key position of query 0 for a term of this alignment, where it is one number for all items. */
int64_t offset_for(Alignment alignment, const CudaPositions &at) {
    if (alignment == Alignment::bottom_right) return at.keys - at.queries;
    return alignment == Alignment::unnamed && at.has_offset ? at.offset : 0;
}

/** Each item's own offset holds for terms without an alignment, and then one window can't hold for the others. */
Status check_one_kind(const CudaMask &mask, const CudaPositions &at, bool &use_offsets) {
    bool named = at.use_alibi && at.alibi != Alignment::unnamed, unnamed = at.use_alibi && at.alibi == Alignment::unnamed;
    unnamed = unnamed || at.compiled_in;
    for (const CudaMask::Window &term : mask.windows)
        (term.alignment == Alignment::unnamed ? unnamed : named) = true;
    use_offsets = at.has_offsets && unnamed;
    if (!use_offsets || !named) return {};
    return fail(ATTUNE_UNSUPPORTED,
                "items have offsets of their own, by offsets or a cache, and terms of the mask and score name an alignment beside others "
                "that don't; on device cuda all must or none");
}

Status check_sizes(const CudaPositions &at) {
    ATTUNE_REQUIRE(at.queries <= most_tokens_on_cuda, "q has {} queries; on device cuda there may be {}", at.queries, most_tokens_on_cuda);
    ATTUNE_REQUIRE(at.keys <= most_tokens_on_cuda, "k has {} keys; on device cuda there may be {}", at.keys, most_tokens_on_cuda);
    ATTUNE_REQUIRE(!at.has_offset || (at.offset >= -most_offset_on_cuda && at.offset <= most_offset_on_cuda),
                   "offset is {}; on device cuda it must be {} to {}", at.offset, -most_offset_on_cuda, most_offset_on_cuda);
    return {};
}

} // namespace

Status read_cuda_mask(const text::Mask &mask, CudaMask &read) { return read_node(mask.root, read); }

Status place_cuda_mask(const CudaMask &mask, const CudaPositions &at, CudaWindow &window) {
    ATTUNE_TRY(check_sizes(at));
    ATTUNE_TRY(check_one_kind(mask, at, window.use_offsets));
    // ALiBi's distances are counted from the offset; windows move to wherever it is.
    const Alignment first = mask.windows.empty() ? Alignment::unnamed : mask.windows[0].alignment;
    const int64_t offset = offset_for(at.use_alibi ? at.alibi : first, at);
    int64_t left = no_limit, right = no_limit;
    for (const CudaMask::Window &term : mask.windows) {
        const int64_t moved = window.use_offsets ? 0 : offset_for(term.alignment, at) - offset;
        if (term.left < no_limit) left = std::min(left, term.left - moved);
        if (term.right < no_limit) right = std::min(right, term.right + moved);
    }
    window.mask_offset = static_cast<int32_t>(offset_for(Alignment::unnamed, at));
    window.offset = static_cast<int32_t>(offset);
    window.left = static_cast<int32_t>(std::max(left, -no_limit));
    window.right = static_cast<int32_t>(std::max(right, -no_limit));
    return {};
}

} // namespace attune::runtime
