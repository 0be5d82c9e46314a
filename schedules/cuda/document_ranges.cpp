// Ranges of documents' keys for CUDA: a block of threads goes through all keys for a range of queries.
#include "dsl/axes.h"
#include "schedules/cuda/blocks.h"
#include "schedules/schedules.h"

namespace attune::schedules::cuda {

using Halide::Func;
using Halide::LoopLevel;
using Halide::MemoryType;
using Halide::RVar;
using Halide::Var;

namespace {

constexpr int document_threads = 256; // of a block, a key each at a time

} // namespace

int document_lanes(const Machine &) { return document_threads; }

// What is reduced last is so by every thread that asks for it: at the level of the block each step would be followed by a barrier.
void simt_document_ranges(const dsl::DocumentRanges &d, const Machine &) {
    Func result = d.result, ids = d.ids, lane_keys = d.lane_keys, keys = d.keys;
    const Var which = result.args()[0], range = result.args()[1], thread("thread"), &lane = dsl::axes::lane;
    const LoopLevel block(result, range);
    result.bound(which, 0, dsl::document_range_parts).gpu_blocks(range, dsl::axes::batch).gpu_threads(which);
    const auto in_shared = [&](Func f) {
        f.compute_at(block).store_in(MemoryType::GPUShared).gpu_threads(thread);
        f.update().gpu_threads(thread);
    };
    const RVar own("own"), of_thread("of_thread");
    const int id_threads = 8, key_threads = 16;
    in_shared(ids.update().split(d.queries.x, own, of_thread, id_threads).rfactor(of_thread, thread));
    Func shared_keys = lane_keys.in();
    shared_keys.compute_at(block).store_in(MemoryType::GPUShared).bound_extent(lane, document_threads).gpu_threads(lane);
    for (Func of_thread_alone : {ids, lane_keys})
        of_thread_alone.compute_at(shared_keys, lane);
    in_shared(keys.update().split(d.lanes.x, own, of_thread, key_threads).rfactor(of_thread, thread));
    keys.compute_at(result, which);
}

} // namespace attune::schedules::cuda
