// Attention on tensor cores by mma.sync: a thread block a tile of queries, a warp 16 or 32 rows; keys and values on their way to
// shared memory while the block before is worked on; scores, weights and outputs in registers throughout.
#include <algorithm>

#include "dsl/axes.h"
#include "dsl/swizzled_panels.h"
#include "schedules/cuda/block_sizes.h"
#include "schedules/cuda/cuda.h"
#include "schedules/cuda/fragments.h"

namespace attune::schedules {

using namespace dsl::axes;
using Halide::Func;
using Halide::MemoryType;
using Halide::TailStrategy;
using Halide::Var;

namespace {

constexpr int words_at_once = 4; // 16 bytes: the widest copy
constexpr int padding = 4;       // words between rows, so that the eight rows of a matrix lie in different banks

/** Copies panels of rows of `channels` channels to shared memory, 16 bytes a thread, neighbours next to each other. */
void copy_panels(Func f, const Var &of_row, int channels, const dsl::FragmentAttention &a) {
    const Var word = f.args()[0];
    Var vector("vector"), part("part"), thread("thread"), turn("turn");
    f.store_in(MemoryType::GPUShared).align_bounds(word, dsl::SwizzledPanels(channels).words);
    f.split(word, vector, part, words_at_once).fuse(vector, of_row, thread).fuse(thread, panel, thread);
    f.split(thread, turn, thread, 32 * a.blocking.warps);
    f.split(thread, a.warp, thread, 32).split(thread, a.g, a.q, 4);
    f.reorder(part, turn, a.q, a.g, a.warp).gpu_threads(a.q, a.g, a.warp).vectorize(part).unroll(turn);
}

/** Copies `rows` rows of `channels` channels to shared memory, 16 bytes a thread at once: four threads share a row, or more where there are
 * too few rows for that. Where a row begins takes many instructions to find; what a thread copies of it lies at constant distances from
 * there. Neighbouring fours of threads have rows that are four apart: with this padding what they copy lies in different banks. */
void copy_rows(Func f, const Var &of_row, int rows, int channels, const dsl::FragmentAttention &a) {
    const Var word = f.args()[0];
    const int words = channels / 2, apart = std::min(rows, 32) / 8, warps = a.blocking.warps;
    Var vector("vector"), part("part"), turn("turn"), piece("piece"), group("group"), row_turn("row_turn");
    f.store_in(MemoryType::GPUShared).align_bounds(word, words).align_storage(word, words + padding);
    f.split(word, vector, part, words_at_once).split(of_row, group, of_row, 8 * apart).split(of_row, a.g, of_row, apart);
    // Warps have rows each; those that are left over, pieces; and the turns of each are what is left.
    const int warps_of_rows = std::min(warps, apart), warps_of_pieces = warps / warps_of_rows;
    f.split(of_row, row_turn, of_row, warps_of_rows).split(vector, turn, piece, 4 * warps_of_pieces).split(piece, piece, a.q, 4);
    f.fuse(of_row, piece, a.warp);
    f.reorder(part, turn, row_turn, group, a.q, a.g, a.warp).gpu_threads(a.q, a.g, a.warp);
    f.vectorize(part).unroll(turn).unroll(row_turn).unroll(group);
}

void copy_to_shared(Func f, const Var &of_row, int rows, int channels, const dsl::FragmentAttention &a) {
    if (a.blocking.warpgroups)
        copy_panels(f, of_row, channels, a);
    else
        copy_rows(f, of_row, rows, channels, a);
}

void schedule_score(const dsl::FragmentAttention &a) {
    Func score = a.score, lane_maximum = a.lane_maximum, state = a.state;
    const Var r = score.args()[0], key_tile = score.args()[3], half = lane_maximum.args()[0];
    score.compute_at(state, a.q).unroll(r).unroll(key_tile).unroll(a.row_tile);
    score.update(0).reorder(r, key_tile, a.row_tile, a.product).unroll(r).unroll(key_tile).unroll(a.row_tile).unroll(a.product);
    const Halide::RDom &scored = a.scored_elements, &masked = a.mask_elements;
    score.update(1).reorder(scored.x, scored.y, a.row_tile, scored.z).unroll(scored.x).unroll(scored.y).unroll(a.row_tile).unroll(scored.z);
    score.update(2).reorder(masked.x, masked.y, a.row_tile).unroll(masked.x).unroll(masked.y).unroll(a.row_tile);
    Func(a.hidden_row).compute_at(state, a.q);
    lane_maximum.compute_at(state, a.q).unroll(half).unroll(a.row_tile);
    lane_maximum.update().unroll(half).unroll(a.row_tile).unroll(a.maximum_elements);
}

void schedule_spoilt(const dsl::FragmentAttention &a) {
    Func lane = a.spoilt_lane, spoilt = a.spoilt, marks = a.marks;
    Halide::RVar turn("turn"), of_turn("of_turn");
    lane.compute_at(a.state, a.q).update().split(a.lane_words.y, turn, of_turn, 4).unroll(of_turn).unroll(a.lane_words.x);
    spoilt.compute_at(a.state, a.q);
    marks.compute_at(a.state, a.q).unroll(marks.args()[0]);
    marks.update().reorder(marks.args()[0], a.marked).unroll(marks.args()[0]);
}

void schedule_fragments(const dsl::FragmentAttention &a) {
    Func query = a.query_fragment, key = a.key_fragment, value = a.value_fragment, score = a.score;
    value.compute_at(a.state, a.q).unroll(value.args()[0]).unroll(value.args()[3]).unroll(value.args()[4]);
    if (a.blocking.warpgroups) return;
    query.compute_at(score, a.product).unroll(query.args()[0]).unroll(a.row_tile);
    key.compute_at(score, a.product).unroll(key.args()[0]).unroll(key.args()[4]);
}

} // namespace

void schedule_fragment_steps(const dsl::FragmentAttention &a, Func output, const Var &block) {
    const dsl::FragmentBlocking &b = a.blocking;
    Func state = a.state;
    state.compute_at(output, block)
        .store_in(MemoryType::Register)
        .bound_extent(a.warp, b.warps)
        .bound_extent(tile, 1)
        .bound_extent(head, 1)
        .bound_extent(batch, 1);
    state.bound_extent(a.q, 4).bound_extent(a.g, 8);
    const Var slot = state.args()[0];
    state.reorder(slot, a.q, a.g, a.warp).gpu_threads(a.q, a.g, a.warp).unroll(slot);
    const Halide::RDom &steps = a.steps;
    state.update().reorder(steps.x, steps.y, a.q, a.g, a.warp, steps.z).gpu_threads(a.q, a.g, a.warp).unroll(steps.x).unroll(steps.y);
    state.update(1).reorder(a.marked_outputs, a.q, a.g, a.warp).gpu_threads(a.q, a.g, a.warp).unroll(a.marked_outputs);
    if (b.warpgroups) state.update(2).reorder(a.sums, a.q, a.g, a.warp).gpu_threads(a.q, a.g, a.warp).unroll(a.sums);
    schedule_score(a);
    schedule_spoilt(a);
    schedule_fragments(a);

    Func query_words = a.query_words;
    query_words.compute_at(output, block).align_bounds(row, b.rows());
    copy_to_shared(query_words, row, b.rows(), b.head_dim, a);
    for (Func f : {a.key_words, a.value_words}) {
        f.store_at(output, block).compute_at(state, steps.z).fold_storage(step, b.stages).align_bounds(key, b.keys);
        copy_to_shared(f, key, b.keys, f.name() == a.key_words.name() ? b.head_dim : b.value_dim, a);
    }
}

// A warp loads every key and value for its rows alone, and so has two tiles of them wherever registers are enough for their outputs. Wide
// heads fill registers, and shared memory: with these rows and keys a block takes at most 99 KB, what every device of capability 8 and
// later has. Registers are left for two blocks; how many shared memory leaves room for differs by device (docs/cuda.md).
dsl::FragmentBlocking mma_blocking(int head_dim) {
    dsl::FragmentBlocking blocking;
    blocking.head_dim = blocking.value_dim = head_dim;
    blocking.keys = mma_block(head_dim).keys;
    blocking.row_tiles = mma_block(head_dim).queries / (16 * blocking.warps);
    blocking.blocks = 2;
    return blocking;
}

void mma_attention(const dsl::FragmentAttention &a) {
    const dsl::FragmentBlocking &b = a.blocking;
    Func output = a.output, lse = a.lse;
    const Var column = output.args()[1];
    Var in_tile("in_tile"), half("half");
    const auto rows = [&](Func f) {
        f.split(token, tile, in_tile, b.rows(), TailStrategy::GuardWithIf).split(in_tile, a.warp, in_tile, 16 * b.row_tiles);
        f.split(in_tile, a.row_tile, in_tile, 16).split(in_tile, half, a.g, 8);
    };
    rows(output);
    output.bound(a.q, 0, 4).bound(column, 0, b.value_dim / 8);
    output.reorder(column, half, a.row_tile, a.q, a.g, a.warp, tile, head, batch).unroll(half).unroll(column).unroll(a.row_tile);
    output.gpu_blocks(tile, head, batch).gpu_threads(a.q, a.g, a.warp);
    rows(lse);
    lse.bound(lane, 0, 1).reorder(half, a.row_tile, lane, a.g, a.warp, tile, head, batch).unroll(half).unroll(a.row_tile);
    lse.gpu_blocks(tile, head, batch).gpu_threads(lane, a.g, a.warp);
    lse.compute_with(output, tile);
    Func(a.factor).compute_at(output, half);

    schedule_fragment_steps(a, output, tile);
}

} // namespace attune::schedules
