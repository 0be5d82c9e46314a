// ALiBi's slopes, the biases by distance, and the merge of two results, for CUDA.
#include "dsl/axes.h"
#include "schedules/cuda/blocks.h"
#include "schedules/schedules.h"

namespace attune::schedules::cuda {

using namespace dsl::axes;
using Halide::Func;
using Halide::MemoryType;
using Halide::TailStrategy;
using Halide::Var;

void simt_slopes(const dsl::AlibiSlopes &s, const Machine &) {
    Func slopes = s.slopes;
    slopes.gpu_tile(head, task, head, warp_threads, TailStrategy::GuardWithIf);
}

// A thread has one distance, and goes through the heads, which share its bucket.
void simt_relative_bias(const dsl::RelativeBias &r, const Machine &) {
    Func bucket = r.bucket, result = r.result;
    const Var distance = result.args()[0];
    result.split(distance, task, distance, row_threads, TailStrategy::GuardWithIf)
        .reorder(head, distance, task, batch)
        .fuse(task, batch, task)
        .gpu_blocks(task)
        .gpu_threads(distance);
    bucket.compute_at(result, distance);
}

// Two kernels. The second writes log-sum-exps, which may lie where the first one read them.
void simt_merge(const dsl::Merge &m, const Machine &) {
    Func factors = m.factors, output = m.output, lse = m.lse;
    blocks_of_rows(output, task);
    factors.clone_in(output)
        .compute_at(output, task)
        .store_in(MemoryType::GPUShared)
        .bound(lane, 0, dsl::Merge::lanes)
        .gpu_threads(token, lane);
    lse.split(token, task, token, row_threads, TailStrategy::GuardWithIf)
        .fuse(task, head, task)
        .fuse(task, batch, task)
        .gpu_blocks(task)
        .gpu_threads(token);
}

} // namespace attune::schedules::cuda
