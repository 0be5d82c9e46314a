#include "runtime/src/cuda/documents.h"

#include <algorithm>

#include "runtime/src/attention/plan.h"
#include "runtime/src/divided_up.h"
#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/kernel/halide_buffer.h"
#include "runtime/src/kernel/registry.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

Status CudaDocuments::fill(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape) {
    if (!plan.own_kernel || !plan.kernel_mask.names(text::MaskKind::documents)) return {};
    ATTUNE_TRY(find_function_kernel("document_ranges", nullptr, ATTUNE_CUDA, call_, kernel_));
    of_queries_ = *query_documents_of(args), of_keys_ = *args.documents;
    const int64_t items = std::max(of_queries_.extent[0], of_keys_.extent[0]);
    const int64_t ranges = divided_up(shape.queries, text::queries_a_document_range);
    constexpr int64_t parts = text::document_range_parts;
    ATTUNE_TRY(scratch_.allocate("ranges of documents' keys", items * ranges * parts * 4));
    const int64_t extents[3] = {items, ranges, parts};
    ranges_ = contiguous_on_device(scratch_.data(), ATTUNE_I32, 3, extents);
    return {};
}

Status CudaDocuments::find() const {
    if (!kernel_) return {};
    const int64_t items = ranges_.extent[0];
    HalideBuffer of_queries(of_queries_, {items, of_queries_.extent[1]}), of_keys(of_keys_, {items, of_keys_.extent[1]});
    HalideBuffer ranges(ranges_, 3);
    void *arguments[] = {nullptr, of_queries.get(), of_keys.get(), ranges.get()};
    return run_kernel(*kernel_, arguments, call_);
}

} // namespace attune::runtime
