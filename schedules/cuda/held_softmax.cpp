#include "schedules/cuda/held_softmax.h"

#include <algorithm>

#include "dsl/axes.h"
#include "schedules/cuda/blocks.h"
#include "schedules/cuda/whole_vectors.h"

namespace attune::schedules::cuda {

using dsl::RowShare;
using dsl::axes::task;
using Halide::Func;
using Halide::LoopLevel;
using Halide::MemoryType;
using Halide::TailStrategy;
using Halide::Var;

namespace {

constexpr int block_warps = 4;       // of rows that a warp has to itself, or shares
constexpr int elements_at_once = 16; // of a thread that goes through a row

RowShare share_of(int elements, int threads, int vector) {
    const int most = elements / vector;
    threads = std::min(threads, most);
    return {threads, most / threads, vector, std::max(1, block_warps * warp_threads / threads)};
}

// Numbers of a block's threads, each of its own.
void of_threads(Func f, const RowShare &share, const LoopLevel &block, MemoryType memory) {
    const Var lane = f.args()[f.args().size() - 2], row = f.args().back();
    f.compute_at(block).store_in(memory).bound_extent(lane, share.threads).bound_extent(row, share.rows).gpu_threads(lane, row);
}

// All is a thread's own, but for what it tells others of its warp.
void hold_by_warps(const dsl::HeldSoftmax &s) {
    for (Func f : {s.score, s.own_maximum, s.maximum, s.weight, s.own_sum, s.sum, s.finish})
        f.compute_at(s.own_result, s.own_result.args()[2]);
}

// There is a barrier after each stage of a block, and so as few of them as can be.
void hold_by_blocks(const dsl::HeldSoftmax &s, const LoopLevel &block) {
    const bool log = s.kind == dsl::SoftmaxKind::log_softmax; // it reads scores and their maximum again, but no weight
    for (const Func &f : {s.score, log ? s.maximum : s.weight})
        of_threads(f, s.share, block, MemoryType::Register);
    for (const Func &f : {s.warp_maximum, s.warp_sum})
        of_threads(f, s.share, block, MemoryType::GPUShared);
    const std::pair<Func, Func> within[] = {{s.own_maximum, s.warp_maximum},
                                            log ? std::pair{s.weight, s.warp_sum} : std::pair{s.maximum, s.weight},
                                            {s.own_sum, s.warp_sum},
                                            {s.sum, s.own_result},
                                            {s.finish, s.own_result}};
    for (auto [f, stage] : within)
        f.compute_at(stage, stage.args()[stage.args().size() - 2]);
}

// Deals the stage's vectors to threads, so many to each at once. `steps`: the loop over those; outside of the kernel, where it has one
// turn.
void deal_vectors(Halide::Stage stage, const Func &result, const RowShare &share, const Var &steps, bool outside) {
    const Var column = result.args()[0], i = result.args()[1], row = result.args()[2], element("element"), vector("vector");
    stage.split(row, task, row, share.rows, TailStrategy::GuardWithIf)
        .split(i, vector, element, share.vector, TailStrategy::RoundUp)
        .split(vector, steps, vector, share.threads * share.vectors, TailStrategy::GuardWithIf)
        .split(vector, vector, thread, share.threads);
    if (outside) // Or else there were a kernel for rows that fill it, which takes 2 to 9 % less instructions.
        stage.reorder(element, vector, thread, row, task, steps, column).partition(steps, Halide::Partition::Never);
    else
        stage.reorder(element, vector, steps, thread, row, task, column);
    stage.vectorize(element).unroll(vector).gpu_blocks(task).gpu_threads(thread, row);
}

} // namespace

std::vector<RowShare> held_shares(const std::string &schedule, const Halide::Type &type) {
    struct Size {
        int elements, threads;
    };
    const std::vector<Size> sizes = schedule == "warps"  ? std::vector<Size>{{32, 32}, {64, 32}, {128, 32}, {512, 32}, {1024, 32}}
                                    : schedule == "simt" ? std::vector<Size>{{2048, 256}, {4096, 256}, {8192, 256}, {16384, 512}}
                                                         : std::vector<Size>{{32768, 1024}};
    std::vector<RowShare> shares;
    for (const Size &size : sizes)
        shares.push_back(share_of(size.elements, size.threads, vector_bytes / type.bytes()));
    if (schedule == "warps")
        for (const int elements : {32, 128, 512, 1024})
            shares.push_back(share_of(elements, 32, 1));
    return shares;
}

void hold(const dsl::HeldSoftmax &s, Func result, Halide::Stage stage) {
    const RowShare &share = s.share;
    const LoopLevel block(result, task);
    deal_vectors(stage, result, share, Var("once"), true);
    for (Func elements : {s.score, s.weight, s.own_result}) {
        const Var element = elements.args()[0], vector = elements.args()[1];
        elements.bound_extent(element, share.vector).bound_extent(vector, share.vectors).unroll(vector);
    }
    Func score = s.score, weight = s.weight, own_result = s.own_result;
    score.vectorize(score.args()[0]), weight.unroll(weight.args()[0]), own_result.unroll(own_result.args()[0]);
    of_threads(s.own_result, share, block, MemoryType::Register);
    if (share.warps() == 1)
        hold_by_warps(s);
    else
        hold_by_blocks(s, block);
}

RowShare online_share(const std::string &schedule, const Halide::Type &type, bool whole_vectors) {
    const int threads = schedule == "wide" ? 1024 : 256, vector = whole_vectors ? vector_bytes / type.bytes() : 1;
    return {threads, elements_at_once / vector, vector, 1};
}

void go_through(const dsl::OnlineSoftmax &s, Func result, Halide::Stage stage) {
    const RowShare &share = s.share;
    const LoopLevel block(result, task);
    deal_vectors(stage, result, share, dsl::axes::step, false);
    for (const Func &f : {s.state, s.maximum, s.finish})
        of_threads(f, share, block, MemoryType::Register);
    for (const Func &f : {s.warp_maximum, s.warp_sum})
        of_threads(f, share, block, MemoryType::GPUShared);
    Func state = s.state;
    const Var number = state.args()[0], lane = state.args()[1], row = state.args()[2];
    state.bound_extent(number, 3).unroll(number);
    for (size_t i = 0; i < s.parts.size(); i++) {
        const dsl::OnlineSoftmax::Part &part = s.parts[i];
        Func score = part.score;
        const Var element = score.args()[0], vector = score.args()[1];
        state.update(int(i)).reorder(part.steps.x, part.steps.y, lane, row).unroll(part.steps.x).gpu_threads(lane, row);
        score.compute_at(state, part.steps.y).vectorize(element).unroll(vector);
        score.bound_extent(element, part.share.vector).bound_extent(vector, part.share.vectors);
    }
    const std::pair<Func, Func> within[] = {{s.own_maximum, s.warp_maximum}, {s.own_sum, s.warp_sum}, {s.sum, s.finish}};
    for (auto [f, of] : within)
        f.compute_at(of, of.args()[0]);
}

} // namespace attune::schedules::cuda
