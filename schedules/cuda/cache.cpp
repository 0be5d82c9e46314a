// Cache writes for CUDA: a warp along the channels, a few tokens a block.
#include "dsl/axes.h"
#include "schedules/cuda/blocks.h"
#include "schedules/schedules.h"

namespace attune::schedules::cuda {

using Halide::Func;
using Halide::RVar;
using Halide::TailStrategy;
using Halide::Var;

void simt_cache_write(const dsl::CacheWrite &w, const Machine &) {
    Func cache = w.cache;
    const auto &r = w.written;
    const RVar step("step"), channel("channel"), task("task"), token("token");
    cache.update()
        .allow_race_conditions() // tokens have places of their own
        .split(r.x, step, channel, warp_threads, TailStrategy::GuardWithIf)
        .split(r.y, task, token, block_rows, TailStrategy::GuardWithIf)
        .reorder(channel, token, step, task, r.z, r.w)
        .fuse(step, task, task)
        .gpu_blocks(task, r.z, r.w)
        .gpu_threads(channel, token);
}

void simt_cache_counts(const dsl::CacheCounts &c, const Machine &) {
    Func result = c.result;
    const Var batch = dsl::axes::batch, which = result.args()[1], task("task");
    result.bound(which, 0, 2)
        .split(batch, task, batch, warp_threads, TailStrategy::GuardWithIf)
        .reorder(which, batch, task)
        .unroll(which)
        .gpu_blocks(task)
        .gpu_threads(batch);
}

} // namespace attune::schedules::cuda
