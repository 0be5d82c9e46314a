#include "runtime/src/layer/mha_masks.h"

#include <algorithm>

#include "runtime/src/attention/plan.h"
#include "runtime/src/error.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

/** A mask of rank 2, [N, M], as rank 4. */
attune_tensor with_heads(const attune_tensor &given) {
    if (given.rank == 4) return given;
    const int64_t extents[4] = {1, 1, given.extent[0], given.extent[1]};
    attune_tensor full = attune_contiguous(given.data, given.type, 4, extents);
    full.stride[2] = given.stride[0], full.stride[3] = given.stride[1];
    return full;
}

uint8_t cell(const attune_tensor &tensor, int64_t element) { return static_cast<const uint8_t *>(tensor.data)[element]; }

Status take_mask(const attune_tensor &mask, const MhaOperands &operands, int64_t heads, int64_t keys, attune_tensor &full) {
    full = with_heads(mask);
    return check_broadcast(full, "mask",
                           {{operands.batch(), "the batch of query"},
                            {heads, "the heads"},
                            {operands.queries(), "the tokens of query"},
                            {keys, "the tokens of key or the cache"}});
}

Status check_padding(const attune_tensor &padding, const MhaOperands &operands, int64_t keys) {
    return check_extents(padding, "key_padding", {{operands.batch(), "the batch of query"}, {keys, "the tokens of key or the cache"}});
}

} // namespace

Status MhaMasks::fill(const attune_mha_args &args, const MhaOperands &operands, const attune_mha &mha, int64_t keys,
                      attune_attention_args &to) {
    if (args.mask) ATTUNE_TRY(take_mask(*args.mask, operands, mha.heads, keys, mask_view_));
    if (args.key_padding) ATTUNE_TRY(check_padding(*args.key_padding, operands, keys));
    if (args.mask && !args.key_padding && args.polarity == ATTUNE_TRUE_ATTENDS) {
        to.boolean_mask = &mask_view_;
        return {};
    }
    // Lengths hold beside the mask, as padding must, only where the mask has no term for them.
    const attune_attention_plan &plan = *mha.attention;
    const bool named = plan.run_time_mask.names(text::MaskKind::lengths) || plan.kernel_mask.names(text::MaskKind::lengths);
    bool are_lengths = false;
    if (args.key_padding && !named && !args.attention.key_lengths && !args.attention.cache) ATTUNE_TRY(fill_lengths(args, are_lengths));
    if (are_lengths) to.key_lengths = &lengths_view_;
    if (!args.mask && (are_lengths || !args.key_padding)) return {};
    return fill_cells(args, args.mask ? &mask_view_ : nullptr, to);
}

// Padding nearly always stands at the end. As a length it lets kernels skip the keys without looking at any.
Status MhaMasks::fill_lengths(const attune_mha_args &args, bool &are_lengths) {
    const attune_tensor &padding = *args.key_padding;
    const int64_t batch = padding.extent[0], keys = padding.extent[1];
    const bool attends = args.polarity == ATTUNE_TRUE_ATTENDS;
    if (!lengths_.allocate(static_cast<size_t>(batch))) return out_of_memory("key_padding", batch * 4);
    for (int64_t b = 0; b < batch; ++b) {
        int64_t length = 0, seen = 0;
        for (int64_t j = 0; j < keys; ++j)
            if ((cell(padding, b * padding.stride[0] + j * padding.stride[1]) != 0) == attends) length = j + 1, ++seen;
        if (seen != length) return {}; // there is a hole
        lengths_.data()[b] = static_cast<int32_t>(length);
    }
    are_lengths = true;
    lengths_view_ = attune_contiguous(lengths_.data(), ATTUNE_I32, 1, &batch);
    return {};
}

Status MhaMasks::fill_cells(const attune_mha_args &args, const attune_tensor *mask, attune_attention_args &to) {
    const attune_tensor *padding = args.key_padding;
    int64_t extents[4] = {1, 1, 1, 1}, at_mask[4] = {}, at_padding[4] = {};
    for (int axis = 0; axis < 4; ++axis) {
        if (mask) extents[axis] = mask->extent[axis], at_mask[axis] = effective_stride(*mask, axis);
    }
    if (padding) {
        extents[0] = padding->extent[0], extents[3] = padding->extent[1];
        at_padding[0] = padding->stride[0], at_padding[3] = padding->stride[1];
    }
    ATTUNE_TRY(check_count("mask with key_padding", {extents[0], extents[1], extents[2], extents[3]}));
    const int64_t count = extents[0] * extents[1] * extents[2] * extents[3];
    if (!attends_.allocate(static_cast<size_t>(count))) return out_of_memory("mask", count);
    const bool attends = args.polarity == ATTUNE_TRUE_ATTENDS;
    uint8_t *next = attends_.data();
    for (int64_t b = 0; b < extents[0]; ++b)
        for (int64_t h = 0; h < extents[1]; ++h)
            for (int64_t i = 0; i < extents[2]; ++i) {
                const int64_t row = b * at_mask[0] + h * at_mask[1] + i * at_mask[2], item = b * at_padding[0];
                for (int64_t j = 0; j < extents[3]; ++j)
                    *next++ = (!mask || (cell(*mask, row + j * at_mask[3]) != 0) == attends) &&
                              (!padding || (cell(*padding, item + j * at_padding[3]) != 0) == attends);
            }
    attends_view_ = attune_contiguous(attends_.data(), ATTUNE_BOOL, 4, extents);
    to.boolean_mask = &attends_view_;
    return {};
}

} // namespace attune::runtime
