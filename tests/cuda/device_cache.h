// Steps of a cache on a GPU, for tests that keep their tensors on the CPU.
#pragma once

#include "attune/attune.hpp"
#include "device_memory.h"
#include "tensor.h"

namespace attune::test {

/** The table as i32, as kernels read it. */
inline attune_tensor upload_table(const attune_tensor &table, DeviceMemory &memory) {
    if (table.type == ATTUNE_I32) return memory.upload(table);
    const Tensor<int32_t> narrow({table.extent[0], table.extent[1]});
    for (int64_t b = 0; b < table.extent[0]; b++)
        for (int64_t p = 0; p < table.extent[1]; p++)
            narrow(b, p) = static_cast<int32_t>(static_cast<const int64_t *>(table.data)[b * table.stride[0] + p * table.stride[1]]);
    return memory.upload(narrow.view());
}

/** A step of a CacheModel on the GPU: what it is given is taken there, and what it writes brought back. */
inline Status run_on_device(const AttentionPlan &plan, const AttentionArgs &host) {
    DeviceMemory memory;
    attune_cache cache = *host.cache;
    for (attune_tensor *tensor : {&cache.k, &cache.v, &cache.lengths})
        *tensor = memory.upload(*tensor);
    attune_tensor table;
    if (cache.block_table) table = upload_table(*cache.block_table, memory), cache.block_table = &table;
    const attune_tensor out = memory.upload(host.out), lse = memory.upload(*host.lse);
    AttentionArgs args(memory.upload(host.q), memory.upload(host.k), memory.upload(host.v), out);
    args.cache = &cache, args.lse = &lse;
    attune_tensor documents, query_documents;
    if (host.documents) documents = memory.upload(*host.documents), args.documents = &documents;
    if (host.query_documents) query_documents = memory.upload(*host.query_documents), args.query_documents = &query_documents;
    Status status = plan.run(args);
    if (!status.ok()) return status;
    memory.download(out, host.out), memory.download(lse, *host.lse);
    memory.download(cache.k, host.cache->k), memory.download(cache.v, host.cache->v);
    return status;
}

} // namespace attune::test
