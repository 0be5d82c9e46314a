// What the task after this one reads, asked for while this one computes.
#include "dsl/attention_parts.h"
#include "dsl/axes.h"
#include "dsl/prefetch.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

constexpr int bytes_per_line = 64;

// The rows of the next task, or those of the next head, or of the next batch item; and the last task has itself after it.
struct NextTask {
    Expr first_row, head, batch;
};

NextTask next_task(const AttentionInputs &in, const Blocking &blocking) {
    const Expr row = (tile / blocking.tiles_per_task + 1) * (blocking.tiles_per_task * blocking.rows_per_tile);
    const Expr same_head = row < in.queries, same_item = same_head || head + 1 < in.heads;
    const Expr next_head = select(same_head, head, same_item, head + 1, 0);
    return {select(same_head, row, 0), unsafe_promise_clamped(next_head, 0, in.heads - 1),
            select(same_item, batch, min(batch + 1, in.batches - 1))};
}

} // namespace

NextTaskMemory next_task_memory(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels) {
    const NextTask next = next_task(in, blocking);
    const int tiles = blocking.tiles_per_task;
    // Tokens of queries, keys and values alike: as many as a task has rows, or fewer keys than that. Each tile asks for its share in its
    // first block, and each of the block's panels for a part.
    const Expr all = min(tiles * blocking.rows_per_tile, max(in.queries, in.keys));
    const Expr tiles_there = min((in.queries + (blocking.rows_per_tile - 1)) / blocking.rows_per_tile, tiles);
    const Expr share = (all + tiles_there - 1) / tiles_there;
    const Halide::Var slot("slot");
    NextTaskMemory m;
    m.asked = Func("asked"), m.tokens = Func("tokens_of_panel");
    const Expr listed_panels = max(listed(panels, Panels::listed_count), 1);
    const Expr first_block = !has_keys_in(blocking, ranges.of_tile(tile, head, batch), block - 1);
    m.tokens(tile, block, head, batch) = select(first_block, (share + listed_panels - 1) / listed_panels, 0);
    const Expr widest = max(in.head_dim, in.value_dim);
    const int elements = bytes_per_line / in.key.type().bytes();
    m.lines = RDom(0, simplify((widest + (elements - 1)) / elements), 0, all, "lines_ahead");
    const Expr tokens = m.tokens(tile, block, head, batch);
    m.lines.where(m.lines.y < tokens);
    const Expr token = next.first_row + tile % tiles * share + slot * tokens + m.lines.y;
    // Of the narrower of two widths lines past the row's end are asked for, too, which costs less than to look.
    const auto channel = [&](const Expr &width) { return unsafe_promise_clamped(m.lines.x * elements, 0, width - 1); };
    const Expr kv_heads = in.heads / in.heads_per_group;
    const Expr kv_head = unsafe_promise_clamped(next.head / in.heads_per_group, 0, kv_heads - 1);
    const Expr of_keys = clamp(token, 0, in.keys - 1);
    auto asked = [&]() -> Halide::FuncRef { return m.asked(slot, tile, block, head, batch); };
    asked() = 0;
    Expr none = 0;
    for (const Halide::FuncRef &later :
         {in.query(channel(in.head_dim), clamp(token, 0, in.queries - 1), next.head, next.batch),
          in.key(channel(in.head_dim), of_keys, kv_head, next.batch), in.value(channel(in.value_dim), of_keys, kv_head, next.batch)})
        none = with_prefetch(none, later, Halide::Internal::const_true(), Nearness::second_level);
    asked() = none;
    return m;
}

} // namespace attune::dsl
