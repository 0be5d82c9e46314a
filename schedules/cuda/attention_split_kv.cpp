// Split-KV attention on tensor cores: a warp, alone in its thread block, has 16 rows of a key/value head and a chunk of its keys, and
// leaves their softmax state in memory; a second kernel merges the states of all chunks.
#include "dsl/axes.h"
#include "schedules/cuda/block_sizes.h"
#include "schedules/cuda/chunk_merge.h"
#include "schedules/cuda/cuda.h"
#include "schedules/cuda/fragments.h"

namespace attune::schedules {

using namespace dsl::axes;
using Halide::Func;
using Halide::MemoryType;
using Halide::TailStrategy;
using Halide::Var;

namespace {

void schedule_chunks(const dsl::FragmentAttention &a) {
    Func partial = a.partial;
    const Var odd = partial.args()[0], column = partial.args()[2];
    const Var half("half");
    partial.bound(odd, 0, 2).bound(a.q, 0, 4).bound(column, 0, a.blocking.value_dim / 8 + 1);
    partial.split(row, a.warp, row, a.blocking.rows(), TailStrategy::GuardWithIf).split(row, half, a.g, 8);
    partial.reorder(odd, column, half, a.q, a.g, a.warp, tile, head, batch).vectorize(odd).unroll(column).unroll(half);
    partial.gpu_blocks(tile, head, batch).gpu_threads(a.q, a.g, a.warp);
    schedule_fragment_steps(a, partial, tile);
}

void schedule_merge(const dsl::FragmentAttention &a) {
    Func output = a.output, lse = a.lse, closed = a.closed;
    const Var column = output.args()[1], which = closed.args()[0];
    output.bound(a.q, 0, 4).bound(column, 0, a.blocking.value_dim / 8);
    output.reorder(a.q, column, token, head, batch).gpu_blocks(token, head, batch).gpu_threads(a.q, column);
    lse.bound(lane, 0, 1);
    cuda::store_in_blocks_of(lse, output);
    closed.compute_at(output, token).store_in(MemoryType::GPUShared).bound(which, 0, 2).gpu_threads(which);
    cuda::schedule_chunk_merge(a.merge, {output, token, a.blocking.value_dim / 8 + 1, closed});
}

} // namespace

// Few keys a step: what a multiprocessor reads at once is as many blocks as its shared memory has room for, and these begin and end one by
// one.
dsl::FragmentBlocking split_kv_blocking(int head_dim) {
    dsl::FragmentBlocking blocking;
    blocking.head_dim = blocking.value_dim = head_dim;
    blocking.keys = split_kv_block(head_dim, true).keys, blocking.warps = 1;
    return blocking;
}

void split_kv_attention(const dsl::FragmentAttention &a) {
    schedule_chunks(a);
    schedule_merge(a);
}

} // namespace attune::schedules
