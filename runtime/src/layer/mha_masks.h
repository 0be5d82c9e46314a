// Boolean masks of a multi-head layer, in whichever polarity, as attention takes them.
#pragma once

#include "runtime/src/kernel/call.h"
#include "runtime/src/layer/mha.h"

namespace attune::runtime {

/** `mask` and `key_padding` of a run as key lengths where they say no more, otherwise as one tensor that is true where a cell attends. */
class MhaMasks {
public:
    explicit MhaMasks(Call &call) : attends_(call), lengths_(call) {}

    /** Checks both and writes them to `to`. `keys` is M. */
    Status fill(const attune_mha_args &args, const MhaOperands &operands, const attune_mha &mha, int64_t keys, attune_attention_args &to);

private:
    Status fill_cells(const attune_mha_args &args, const attune_tensor *mask, attune_attention_args &to);
    Status fill_lengths(const attune_mha_args &args, bool &are_lengths);

    Scratch<uint8_t> attends_;
    Scratch<int32_t> lengths_;
    attune_tensor attends_view_ = {}, lengths_view_ = {}, mask_view_ = {};
};

} // namespace attune::runtime
