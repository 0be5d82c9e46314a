#include "schedules/cuda/blocks.h"

#include <vector>

#include "dsl/axes.h"

namespace attune::schedules::cuda {

using dsl::axes::part;
using Halide::Func;
using Halide::LoopLevel;
using Halide::MemoryType;
using Halide::RVar;
using Halide::Stage;
using Halide::TailStrategy;
using Halide::Var;
using Halide::VarOrRVar;

namespace {

void over_threads(Stage stage, const Var &side_by_side, const RowThreads &threads) {
    stage.gpu_threads(side_by_side);
    if (threads.row) stage.gpu_threads(*threads.row);
}

} // namespace

void blocks_of_rows(Func output, const Var &block) {
    using dsl::axes::batch, dsl::axes::dim, dsl::axes::head, dsl::axes::token;
    const Var step("step");
    output.split(dim, step, dim, warp_threads, TailStrategy::GuardWithIf)
        .split(token, block, token, block_rows, TailStrategy::GuardWithIf)
        .reorder(step, dim, token, block, head, batch)
        .fuse(block, head, block)
        .fuse(block, batch, block)
        .gpu_blocks(block)
        .gpu_threads(dim, token);
}

void keep_in_registers(Func partial, const Halide::RDom &chunks, const LoopLevel &block, const RowThreads &threads) {
    const Var &lane = dsl::axes::lane;
    partial.compute_at(block).store_in(MemoryType::Register).bound_extent(lane, threads.lanes());
    auto spread = [&](Stage stage, std::vector<VarOrRVar> order) {
        order.emplace_back(thread);
        if (threads.row) order.emplace_back(*threads.row);
        stage.split(lane, part, thread, threads.count).reorder(order).unroll(part);
        over_threads(stage, thread, threads);
    };
    spread(partial, {part}), spread(partial.update(), {part, chunks.x});
}

void reduce_over_threads(Func total, const Halide::RDom &lanes, const LoopLevel &block, const RowThreads &threads) {
    const RVar own("own"), of_thread("of_thread"), of_group("of_group"), group("group");
    const Var group_thread("group_thread"), one = total.args().front(); // a loop of one thread
    int of_each = 1;                                                    // threads of a group, and at least as many groups as that
    while (of_each * of_each < threads.count)
        of_each *= 2;
    // Added up in registers, and then stored: a sum that lies in shared memory has a barrier after each of its stages.
    auto share = [&](Func f, const Var &side_by_side, const RVar &joined) {
        Func shared = f.in();
        shared.compute_at(block).store_in(MemoryType::GPUShared);
        over_threads(shared, side_by_side, threads);
        if (threads.row) shared.reorder(side_by_side, *threads.row).reorder_storage(side_by_side, *threads.row);
        f.compute_at(shared, side_by_side);
        f.update().unroll(joined);
    };
    share(total.update().split(lanes.x, own, of_thread, threads.count).rfactor(of_thread, thread), thread, own);
    share(total.update().split(of_thread, group, of_group, of_each).rfactor(group, group_thread), group_thread, of_group);
    share(total, one, group);
}

} // namespace attune::schedules::cuda
