#include "runtime/src/attention/masks.h"

#include <algorithm>

#include "runtime/src/mask/cells.h"

namespace attune::runtime {

namespace {

using text::MaskKind;

MaskInput mask_input(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    MaskInput input = {s.batch, s.heads, s.queries, s.keys};
    input.offset = args.has_offset ? args.offset : 0;
    input.offsets = args.offsets;
    input.key_lengths = args.key_lengths;
    input.lengths_cut = args.cache || (!plan.run_time_mask.names(MaskKind::lengths) && !plan.kernel_mask.names(MaskKind::lengths));
    input.params = args.params;
    return input;
}

Attend given(const attune_tensor *tensor, bool used) { return tensor && used ? Attend{*tensor, true} : Attend{}; }

} // namespace

Status RunMasks::fill(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    if (args.documents || args.document_starts)
        ATTUNE_TRY(documents_.fill({s.queries, s.keys, args.documents, args.query_documents, args.document_starts}));
    ATTUNE_TRY(build_table(plan, args, s));
    // A boolean mask belongs to the term `tensor` where a mask has one, and otherwise holds beside the masks.
    const bool in_kernel = plan.kernel_mask.names(MaskKind::tensor);
    attend_ = given(args.boolean_mask, plan.run_time_mask.tensor || !in_kernel);
    weights_attend_ = given(args.boolean_mask, plan.run_time_mask.tensor || plan.kernel_mask.tensor || !in_kernel);
    const bool wanted = args.weights || args.scores;
    return wanted && plan.kernel_mask.rest.kind != MaskKind::none ? write_weights_attend(plan, args, s) : Status();
}

Status RunMasks::build_table(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    if (plan.program.depends_on_blocks) {
        BlockSize size = {1, 1};
        ATTUNE_TRY(find_block_size(plan.run_time_mask, plan.kernel_mask, args.params, size));
        ATTUNE_TRY(blocks_.fill(*args.block_map, size, s.keys));
    }
    MaskInput input = mask_input(plan, args, s);
    input.documents = &documents_, input.blocks = &blocks_;
    return build_interval_table(plan.program, input, call_, memory_, table_);
}

/** The weights are as large as this tensor, so it is no burden beside them. */
Status RunMasks::write_weights_attend(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &s) {
    const auto extent = [](const attune_tensor *tensor, int axis) { return tensor ? tensor->extent[axis] : 1; };
    const bool per_item = args.offsets || args.key_lengths || documents_.items() > 1;
    const int64_t extents[4] = {
        per_item ? s.batch : std::max(extent(args.boolean_mask, 0), extent(args.block_map, 0)),
        std::max(extent(args.boolean_mask, 1), extent(args.block_map, 1)),
        s.queries,
        s.keys,
    };
    attune_tensor cells;
    ATTUNE_TRY(make_scratch_tensor("the mask of the weights", ATTUNE_BOOL, 4, extents, attend_memory_, cells));
    ATTUNE_TRY(write_mask_cells(plan.kernel_mask, mask_input(plan, args, s), args.boolean_mask, args.block_map, documents_, call_, cells));
    if (weights_attend_.used) restrict_to(weights_attend_.tensor, cells);
    weights_attend_ = {cells, true};
    return {};
}

} // namespace attune::runtime
