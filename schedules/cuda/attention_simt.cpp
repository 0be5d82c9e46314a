// Attention for CUDA without tensor cores: a block of 8 x 16 threads, or 16 x 8, a tile of queries.
//
// A thread has some rows of the tile, and of them a few keys of the scores and a few channels of the output, all in registers: of 64 or 128
// channels 4 rows by 8 keys (of the 16 rows of split-KV 2 by 4), for which it reads 12 numbers of shared memory, 4 at once, to multiply and
// add 32 times. Copies of q, k and v pass through shared memory a chunk at a time, so that it takes as much of it for any number of
// channels.
#include "dsl/axes.h"
#include "schedules/bounds.h"
#include "schedules/cuda/block_sizes.h"
#include "schedules/cuda/blocks.h"
#include "schedules/cuda/chunk_merge.h"
#include "schedules/schedules.h"

namespace attune::schedules::cuda {

using namespace dsl::axes;
using Halide::Func;
using Halide::LoopLevel;
using Halide::MemoryType;
using Halide::Stage;
using Halide::TailStrategy;
using Halide::Var;
using Halide::VarOrRVar;

namespace {

constexpr int threads_of_block = 128, warp = 32;
constexpr int words_at_once = 4; // that a thread reads from shared memory, where they are aligned

const Var r{"r"}, c{"c"}, g{"g"};
const Var d_low{"d_low"}, d_high{"d_high"}, a{"a"}, e{"e"}, rest{"rest"};

// The loops of one stage: `own` within a thread, innermost first and unrolled, then `loops` of the thread, the threads, `around` them all.
void threads(Stage stage, const std::vector<VarOrRVar> &own, const std::vector<VarOrRVar> &loops, const Var &tx, const Var &ty,
             const std::vector<VarOrRVar> &around = {}) {
    std::vector<VarOrRVar> order = own;
    order.insert(order.end(), loops.begin(), loops.end());
    order.insert(order.end(), {tx, ty});
    order.insert(order.end(), around.begin(), around.end());
    stage.reorder(order).gpu_threads(tx, ty);
    for (const VarOrRVar &v : own)
        stage.unroll(v);
}

// What is computed in a block of threads is for one tile and one block of keys.
void in_one_block(Func f) { only_one(f, {tile, block, head, batch}); }

struct Plan {
    const dsl::SimtAttention &t;
    const int parts = t.blocking.parts, threads_of_rows = threads_of_block / parts; // threads along keys or channels, and along rows
    const int rows_per_thread = t.blocking.rows / threads_of_rows;
    const Var part = t.part_sum.args()[0];

    Stage rows(Stage stage) const { return stage.split(row, y, r, rows_per_thread); }
    Stage keys(Stage stage) const { return parted(rows(stage), key); }
    Stage channels(Stage stage) const { return parted(rows(stage), dim); }
    // Groups of `c`, of which each part has some.
    Stage parted(Stage stage, const Var &axis) const {
        return stage.split(axis, g, x, dsl::SimtBlocking::group * parts).split(x, x, c, dsl::SimtBlocking::group);
    }
    // A row a thread.
    Stage single_rows(Stage stage) const { return stage.split(row, y, x, parts); }

    // Where a tile is computed: the output's loop over blocks, or that of the chunks' states.
    LoopLevel tile_level() const { return t.blocking.split ? LoopLevel(t.partial, tile) : LoopLevel(t.attention, task); }

    void of_block() const;
    void results() const;
    void split_results() const;
    void transposed_copy(Func f, const Var &token_in_tile, int tokens) const;
    void operands() const;
    void scores() const;
    void weights() const;
    void output() const;
    void fold() const;
};

// q and k from memory in sectors of 8 channels, 4 rows of them a warp: in shared memory, transposed, they fall on 32 different banks.
void Plan::transposed_copy(Func f, const Var &token_in_tile, int tokens) const {
    f.store_in(MemoryType::GPUShared).align_storage(token_in_tile, tokens + 4);
    f.split(dim, d_high, d_low, 8).split(token_in_tile, rest, a, parts / 8).split(rest, rest, y, threads_of_rows).fuse(d_low, a, x);
    threads(f, {d_high, rest}, {}, x, y);
}

void Plan::operands() const {
    Func query = t.query, key_copy = t.key, value = t.value;
    query.compute_at(t.dot, t.dims.y), transposed_copy(query, row, t.blocking.rows);
    key_copy.compute_at(t.dot, t.dims.y), transposed_copy(key_copy, key, t.blocking.keys);
    value.compute_at(t.output, t.values.y).store_in(MemoryType::GPUShared);
    value.split(dim, d_high, x, parts).split(d_high, d_high, a, warp / parts).split(key, rest, e, threads_of_block / warp).fuse(a, e, y);
    threads(value, {d_high, rest}, {}, x, y);
    // Without what it takes to find pages, loads of a thread don't wait for one another.
    for (Func f : {key_copy, value})
        f.specialize(t.contiguous);
}

void Plan::scores() const {
    Func dot = t.dot, score = t.score;
    dot.compute_at(t.state, t.merge.y).store_in(MemoryType::Register);
    threads(keys(dot), {c, r, g}, {}, x, y);
    threads(keys(dot.update()), {c, r, g}, {t.dims.x}, x, y, {t.dims.y});
    dot.update().unroll(t.dims.x, 4);
    score.compute_at(t.state, t.merge.y).store_in(MemoryType::Register);
    threads(keys(score), {c, r, g}, {}, x, y);
    for (size_t stage = 0; stage < t.stages.size(); stage++)
        threads(keys(score.update(int(stage))), {c, r, g}, {t.stages[stage].x}, x, y);
    for (int plain = int(t.stages.size()); plain < score.num_update_definitions(); plain++)
        threads(keys(score.update(plain)), {c, r, g}, {}, x, y);
}

void Plan::weights() const {
    const LoopLevel block_of_keys(t.state, t.merge.y);
    Func part_maximum = t.part_maximum, maximum = t.maximum, weight = t.weight, part_sum = t.part_sum;
    Func shared = part_maximum.in(maximum);
    shared.compute_at(block_of_keys).store_in(MemoryType::GPUShared).reorder_storage(row, part).align_storage(row, t.blocking.rows + 1);
    threads(rows(shared), {r}, {}, part, y);
    part_maximum.compute_at(shared, part).unroll(row);
    part_maximum.update().reorder(t.keys_of_part, row).unroll(t.keys_of_part).unroll(row);
    maximum.compute_at(block_of_keys).store_in(MemoryType::GPUShared);
    threads(single_rows(maximum), {}, {}, x, y);
    threads(single_rows(maximum.update()), {t.parts}, {}, x, y);
    weight.compute_at(block_of_keys).store_in(MemoryType::Register);
    threads(keys(weight), {c, r, g}, {}, x, y);
    part_sum.compute_at(block_of_keys).store_in(MemoryType::Register);
    threads(rows(part_sum), {r}, {}, part, y);
    threads(rows(part_sum.update()), {t.keys_of_part, r}, {}, part, y);
}

void Plan::output() const {
    const LoopLevel block_of_keys(t.state, t.merge.y);
    Func output = t.output, bits = t.bits, careful = t.careful, weight = t.weight;
    Func shared = weight.in({output, careful});
    shared.compute_at(block_of_keys).store_in(MemoryType::GPUShared).align_storage(row, t.blocking.rows + 4);
    threads(keys(shared), {c, r, g}, {}, x, y);
    for (Func f : {output, bits, careful})
        f.compute_at(block_of_keys).store_in(MemoryType::Register);
    output.bound_extent(dim, t.blocking.channels);
    threads(channels(output), {c, g, r}, {}, x, y);
    threads(channels(output.update()), {c, g, r}, {t.values.x}, x, y, {t.values.y});
    output.update().unroll(t.values.x, 4);
    threads(rows(bits), {r}, {}, part, y);
    threads(rows(bits.update()), {t.channels, r}, {}, part, y);
    threads(channels(careful), {c, g, r}, {}, x, y);
    channels(careful.update()).reorder(c, g, t.careful_keys, r, x, y).gpu_threads(x, y).unroll(c).unroll(g).unroll(r);
}

void Plan::fold() const {
    Func state = t.state;
    const Var &slot = lane;
    state.compute_at(tile_level()).store_in(MemoryType::Register);
    state.bound_extent(row, t.blocking.rows)
        .bound_extent(part, parts)
        .bound_extent(slot, dsl::state::output + t.blocking.channels_per_part());
    threads(rows(state), {slot, r}, {}, part, y);
    threads(rows(state.update()), {t.merge.x, r}, {}, part, y, {t.merge.y});
}

void Plan::of_block() const {
    Func shared = t.shared, total = t.total, slope = t.slope;
    for (Func f : {t.item, shared, total})
        f.compute_at(tile_level()).store_in(MemoryType::GPUShared);
    // What comes after it in shared memory is aligned, too. For the rows of several heads it is worked out where it is used: how much
    // memory it took would be known at run time only, and not how anything else is aligned.
    if (!t.blocking.split) slope.compute_at(tile_level()).store_in(MemoryType::GPUShared).align_storage(slope.args()[0], words_at_once);
    const Var which = shared.args()[0];
    shared.bound(which, 0, 2).reorder_storage(row, part, which).align_storage(row, t.blocking.rows + 1);
    threads(rows(shared), {which, r}, {}, part, y);
    threads(single_rows(total), {}, {}, x, y);
    threads(single_rows(total.update()), {t.parts}, {}, x, y);
}

void Plan::results() const {
    Func out = t.attention, lse = t.lse, attends = t.attends, closing = t.closing;
    out.split(dim, chunk, dim, t.blocking.channels, TailStrategy::GuardWithIf)
        .split(token, task, row, t.blocking.rows, TailStrategy::GuardWithIf);
    channels(out);
    out.reorder(c, g, r, chunk, x, y, task, head, batch).unroll(c).unroll(g).unroll(r);
    out.gpu_blocks(task, head, batch).gpu_threads(x, y);
    for (Func f : {attends, closing})
        f.compute_at(out, task).store_in(MemoryType::GPUShared);
    const Var which = closing.args()[1];
    threads(single_rows(attends), {}, {}, x, y);
    threads(single_rows(attends.update()), {}, {t.starved.x}, x, y);
    closing.bound(which, 0, int(dsl::Fold::closing_count));
    threads(single_rows(closing), {which}, {}, x, y);
    lse.split(token, task, row, t.blocking.rows, TailStrategy::GuardWithIf).split(row, y, x, parts);
    lse.gpu_blocks(task, head, batch).gpu_threads(x, y);
    lse.compute_with(out, task);
}

void Plan::split_results() const {
    Func partial = t.partial, out = t.attention, attends = t.attends, closing = t.closing;
    const Var odd("odd"), q("q"), column("column"), only("only"), which = closing.args()[0];
    const int all_parts = dsl::SimtBlocking::group * parts; // channels; those of the maximum and the sum come after the others
    partial.split(dim, chunk, dim, t.blocking.channels + all_parts, TailStrategy::GuardWithIf);
    partial.split(dim, g, x, all_parts).split(x, x, c, dsl::SimtBlocking::group);
    partial.split(row, only, row, t.blocking.rows, TailStrategy::GuardWithIf).split(row, y, r, rows_per_thread);
    partial.reorder(c, g, r, chunk, only, x, y, tile, head, batch).unroll(c).unroll(g).unroll(r);
    partial.gpu_blocks(tile, head, batch).gpu_threads(x, y);
    for (Func f : {t.shared, t.total})
        f.bound_extent(row, t.blocking.rows); // also where there are fewer

    out.split(dim, column, dim, 8, TailStrategy::GuardWithIf).split(dim, q, odd, 2).reorder(odd, q, column, token, head, batch);
    out.unroll(odd).gpu_blocks(token, head, batch).gpu_threads(q, column);
    store_in_blocks_of(t.lse, out);
    closing.compute_at(out, token).store_in(MemoryType::GPUShared).bound(which, 0, int(dsl::Fold::closing_count)).gpu_threads(which);
    attends.compute_at(closing, which);
    schedule_chunk_merge(t.chunk_merge, {out, token, t.blocking.channels / 8 + 1, closing});
}

} // namespace

// Registers are what limits: with 256 channels a thread has half the rows.
dsl::SimtBlocking simt_blocking(const Machine &, int head_dim, const Halide::Expr &) {
    dsl::SimtBlocking shape;
    const bool is_known = head_dim == 64 || head_dim == 128;
    shape.parts = is_known ? 8 : 16, shape.channels = is_known ? head_dim : 256, shape.values = is_known ? 32 : 16;
    shape.rows = simt_block(head_dim).queries, shape.keys = simt_block(head_dim).keys;
    shape.blocks = head_dim == 64 ? 3 : 2;
    return shape;
}

// A step of few rows is soon done: what hides how long keys and values take to come are more blocks.
dsl::SimtBlocking simt_split_blocking(const Machine &machine, int head_dim, const Halide::Expr &keys) {
    dsl::SimtBlocking shape = simt_blocking(machine, head_dim, keys);
    shape.rows = split_kv_block(head_dim, false).queries, shape.split = true;
    shape.parts = 16; // 2 rows by 4 keys a thread, where 8 parts would leave it 1 by 8
    shape.blocks = shape.channels <= 128 ? 4 : 2;
    return shape;
}

void simt_attention(const dsl::SimtAttention &t, const Machine &) {
    const Plan plan{t};
    for (const Func &f : {t.item, t.query, t.key, t.value, t.dot, t.score, t.part_maximum, t.maximum, t.weight, t.part_sum})
        in_one_block(f);
    for (const Func &f : {t.output, t.bits, t.careful, t.state, t.shared, t.total})
        in_one_block(f);
    if (!t.blocking.split)
        for (const Func &f : {t.slope, t.attends, t.closing})
            in_one_block(f);
    plan.of_block();
    if (t.blocking.split)
        plan.split_results();
    else
        plan.results();
    plan.fold();
    plan.scores();
    plan.weights();
    plan.output();
    plan.operands();
}

} // namespace attune::schedules::cuda
