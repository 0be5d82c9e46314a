// Documents' ids on a GPU: which keys a tile of queries needs, found by a kernel on the call's stream, since nobody else may look at them.
#pragma once

#include "runtime/src/attention/checks.h"
#include "runtime/src/cuda/scratch.h"

namespace attune::runtime {

/** Where the mask of a kernel of attune_add_kernel names documents: their ranges (generators/document_ranges.cpp), i32 [batch or 1, ranges
 * of queries, 4]. */
class CudaDocuments {
public:
    CudaDocuments(const CudaDevice &device, Call &call) : call_(call), scratch_(device, call) {}

    /** `args` have been checked. Nothing is launched. */
    Status fill(const attune_attention_plan &plan, const attune_attention_args &args, const AttentionShape &shape);

    /** Once, before the kernel that reads them. */
    Status find() const;
    /** nullptr: there are none. */
    const attune_tensor *ranges() const { return kernel_ ? &ranges_ : nullptr; }

private:
    Call &call_;
    DeviceScratch scratch_;
    const attune_kernel *kernel_ = nullptr;
    attune_tensor of_queries_ = {}, of_keys_ = {}, ranges_ = {};
};

/** The documents of queries: those of the keys where they have none of their own. */
inline const attune_tensor *query_documents_of(const attune_attention_args &args) {
    return args.query_documents ? args.query_documents : args.documents;
}

} // namespace attune::runtime
