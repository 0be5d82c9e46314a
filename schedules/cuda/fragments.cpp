#include "schedules/cuda/fragments.h"

#include "schedules/cuda/cuda.h"

namespace attune::schedules {

const std::vector<FragmentSchedule> &fragment_schedules() {
    static const std::vector<FragmentSchedule> table = {
        {"mma", "cuda", "128 queries a thread block, a warp 32, or half: tensor cores by mma.sync, copies ahead of use", mma_blocking,
         mma_attention, false},
        {"wgmma", "cuda", "128 queries a thread block, a warpgroup 64: tensor cores by wgmma, on compute capability 9.0 alone",
         wgmma_blocking, mma_attention, false},
        {"split_kv", "cuda",
         "split-KV: a warp has 16 rows of a key/value head and a chunk of keys, by mma.sync; then the chunks are merged", split_kv_blocking,
         split_kv_attention, true},
    };
    return table;
}

} // namespace attune::schedules
