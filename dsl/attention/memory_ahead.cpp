// What is read after this: by the block of keys that follows, and by the next task.
#include "dsl/attention/parts.h"
#include "dsl/axes.h"
#include "dsl/in_place.h"
#include "dsl/numeric.h"
#include "dsl/prefetch.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

enum Tensor { of_keys, of_values };

// The rows of the next task.
struct NextTask {
    Expr first_row, head, kv_head, batch;
};

NextTask next_task(const AttentionInputs &in, const Blocking &blocking) {
    const Expr row = (blocking.task_of(tile) + 1) * (blocking.tiles_of_task() * blocking.rows_per_tile);
    const Expr same_head = row < in.queries, kv_heads = in.heads / in.heads_per_group;
    const NextHead next(same_head, in.heads, in.batches);
    return {select(same_head, row, 0), next.head, unsafe_promise_clamped(next.head / in.heads_per_group, 0, kv_heads - 1), next.batch};
}

// Whether what is asked for with the products are the rows of keys and values: where they lie one after the other, as far as a page goes.
// Of what is asked for with a panel that goes past its page's end the rest is another's, and yet pages of 8 keys take 0.84 to 0.98 of the
// time so on Zen 4. Rows of heads in turns, so asked for, were 0 to 9 % slower there: those of a block share few sets of the second-level
// cache, and are gone when they are copied.
Expr asks_rows(const AttentionInputs &in, const Blocking &blocking) {
    const Expr adjacent = in.pages.key_strides->place == in.head_dim && in.pages.value_strides->place == in.value_dim;
    if (!in.pages.several.defined()) return adjacent;
    return adjacent && (!in.pages.several || in.pages.size >= blocking.keys_per_panel / 2);
}

// Of tokens of queries, and of keys and values, as many as a task has rows, or fewer keys than that. Each tile asks for its share in its
// first block, and each of the block's panels for a part.
void declare_asked(MemoryAhead &m, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels) {
    const NextTask next = next_task(in, blocking);
    const Expr tiles = blocking.tiles_of_task();
    const Expr keys_apart = m.block_ahead.defined() ? !asks_rows(in, blocking) : Halide::Internal::const_true();
    const Expr all = min(tiles * blocking.rows_per_tile, max(in.queries, select(keys_apart, in.keys, 0)));
    const Expr tiles_there = min(divided_up(in.queries, blocking.rows_per_tile), tiles);
    const Expr share = divided_up(all, tiles_there);
    const Expr listed_panels = max(listed(panels, Panels::listed_count), 1);
    const Expr first_block = !has_keys_in(blocking, ranges.of_tile(tile, head, batch), block - 1);
    m.tokens(tile, block, head, batch) = select(first_block, divided_up(share, listed_panels), 0);

    const Halide::Var slot("slot");
    const Expr tokens = m.tokens(tile, block, head, batch);
    auto asked = [&]() -> Halide::FuncRef { return m.asked(slot, tile, block, head, batch); };
    asked() = 0;
    const auto ask = [&](const char *name, const Expr &width, const Halide::Type &type, const Expr &used, const auto &later) {
        const int elements = bytes_per_line / type.bytes();
        RDom lines(0, simplify(divided_up(width, elements)), 0, all, name);
        lines.where(lines.y < select(used, tokens, 0));
        Expr none = 0;
        for (const Halide::FuncRef &read :
             later(lines.x * elements, next.first_row + (tile & (tiles - 1)) * share + slot * tokens + lines.y))
            none = with_prefetch(none, read, Halide::Internal::const_true(), Nearness::second_level);
        asked() = none;
    };
    using Later = std::vector<Halide::FuncRef>;
    // Of the narrower of two widths lines past the row's end are asked for, too, which costs less than to look.
    const auto channel = [](const Expr &c, const Expr &width) { return unsafe_promise_clamped(c, 0, width - 1); };
    ask("query_lines_ahead", in.head_dim, in.query.type(), Halide::Internal::const_true(), [&](const Expr &c, const Expr &token) {
        return Later{in.query(channel(c, in.head_dim), clamp(token, 0, in.queries - 1), next.head, next.batch)};
    });
    ask("key_lines_ahead", max(in.head_dim, in.value_dim), in.pages.key.type(), keys_apart, [&](const Expr &c, const Expr &token) {
        const auto of_key = [&](const Func &stored, const Expr &width) {
            return in.pages.stored(stored, channel(c, width), clamp(token, 0, in.keys - 1), next.kv_head, next.batch);
        };
        return Later{of_key(in.pages.key, in.head_dim), of_key(in.pages.value, in.value_dim)};
    });
}

// Of the block that follows, or of the next task's first keys. What is asked for in the place of others than rows is there already.
void declare_block_ahead(MemoryAhead &m, const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges,
                         const Panels &panels) {
    const NextTask next = next_task(in, blocking);
    const Expr same_task = has_keys_in(blocking, ranges.of_tile(tile, head, batch), block + 1);
    // Of a window, or documents, the next task's keys begin about where this one's end.
    const auto of_task = ranges.of_task(blocking.task_of(tile), head, batch);
    const Expr of_next = select(next.first_row > 0 && of_task[KeyRanges::first] > 0, of_task[KeyRanges::end], 0);
    const Expr begin = clamp(select(same_task, (block + 1) * blocking.keys_per_block, of_next), 0, in.keys - 1);
    const Expr kv_head = select(same_task, head / in.heads_per_group, next.kv_head), item = select(same_task, batch, next.batch);
    const Halide::Var slot("slot");
    const Expr rows = select(asks_rows(in, blocking), slot * blocking.keys_per_panel, 0); // further on
    const auto at = [&](const Func &f, const Expr &stride) {
        const auto of_token = [&](const Expr &token) { return address_of(in.pages.stored(f, 0, token, kv_head, item)); };
        const Expr in_a_page = of_token(begin) + cast<uint64_t>(cast<int64_t>(rows) * cast<int64_t>(stride) * f.type().bytes());
        const Expr address = branch(in.pages.in_several(), of_token(min(begin + rows, in.keys - 1)), in_a_page);
        return defined_if(slot < listed(panels, Panels::listed_count), address);
    };
    m.block_ahead = Func("block_ahead");
    m.block_ahead(slot, tile, block, head, batch) =
        Halide::Tuple(at(in.pages.key, in.pages.key_strides->place), at(in.pages.value, in.pages.value_strides->place));
}

} // namespace

NextHead::NextHead(const Expr &goes_on, const Expr &heads, const Expr &batches) {
    const Expr same_item = goes_on || axes::head + 1 < heads;
    head = unsafe_promise_clamped(select(goes_on, axes::head, same_item, axes::head + 1, 0), 0, heads - 1);
    batch = select(same_item, axes::batch, min(axes::batch + 1, batches - 1));
}

MemoryAhead memory_ahead(const AttentionInputs &in, const Blocking &blocking, const KeyRanges &ranges, const Panels &panels) {
    MemoryAhead m;
    m.asked = Func("asked"), m.tokens = Func("tokens_of_panel");
    if (blocking.asks_with_products && in.pages.have_known_distances()) declare_block_ahead(m, in, blocking, ranges, panels);
    declare_asked(m, in, blocking, ranges, panels);
    return m;
}

Expr asking_ahead(const AttentionInputs &in, const Blocking &blocking, const Operands &o, const MemoryAhead &memory, const Expr &key,
                  const Expr &slot, const Expr &lane, const Expr &d) {
    const Products &products = blocking.products;
    const int keys = blocking.keys_per_panel;
    const Expr terms = products.packed(in.head_dim), once = lane == 0 && row < blocking.value_lanes && d % blocking.channels_at_once == 0;
    // A panel has `keys` times as many elements as there are products with one of its keys: so many of them are asked for with each,
    // or by one of a pass.
    const auto ahead = memory.block_ahead(slot, tile, block, head, batch);
    const auto further = [&](const Func &f) { return cast<uint64_t>(cast<int64_t>(d * (keys * products.depth())) * f.type().bytes()); };
    Expr asking = key;
    asking = with_prefetch_at(asking, ahead[of_keys] + further(in.pages.key), once, Nearness::second_level);
    asking = with_prefetch_at(asking, ahead[of_values] + further(in.pages.value), once, Nearness::second_level);
    if (!o.place.defined()) return asking;
    const Expr of_panel = (cast<int64_t>(terms) * keys + cast<int64_t>(d * keys)) * products.type().bytes();
    const Expr origin = o.panel_place(slot, tile, block, head, batch)[Operands::key_origin];
    return with_prefetch_at(asking, origin + cast<uint64_t>(of_panel), once, Nearness::first_level);
}

} // namespace attune::dsl
