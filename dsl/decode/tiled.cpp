// Decoding of many rows a key by products of matrices: scores as keys times queries, the output as weights times values.
#include "dsl/decode/parts.h"

#include "dsl/attention/parts.h"
#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/prefetch.h"
#include "dsl/words.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

const Products &products(const Decode &d) { return d.blocking.tiles.products; }

// Words of the keys of a part: of a panel, and of which of its streams.
RDom words_of_part(const Decode &d, const char *name) {
    const int depth = products(d).depth();
    return RDom(0, d.blocking.keys_per_panel / depth, 0, depth, name);
}

// Lane `channel` of a vector of a key's words, of numbers that are converted. What lies further on is asked for.
Expr converted_word(const Decode &d) {
    return products(d).pack([&](int which) {
        const Expr now = as_float(tiled_channel(d, Cached::key, lane, stream, step, channel_of_word(d, vector, channel, which)));
        if (which > 0 || !d.panel_at.defined()) return now;
        const Expr further = lane + keys_ahead(d, Cached::key, d.blocking.tiles.key_bytes_ahead);
        return with_prefetch(now, as_float(channel_in_whole_panel(d, Cached::key, slot_of(d, stream, step), further,
                                                                  channel_of_word(d, vector, channel, which))));
    });
}

// A product loads a line of each key, and then the next of each, from which the CPU can't tell what it will read next. So all lines are
// read in order before.
void declare_read_keys(Decode &d) {
    TiledProducts &t = d.tiled;
    const int channels = bytes_per_line / d.inputs.pages.key.type().bytes();
    t.read = Func("read_keys"), t.lines = RDom(0, d.inputs.head_dim / channels, 0, d.blocking.keys_per_panel, "read_lines");
    auto read = [&]() -> Halide::FuncRef { return t.read(stream, step, chunk, head, batch); };
    auto bits = [&](const Expr &key) {
        return Halide::reinterpret<uint16_t>(channel_in_whole_panel(d, Cached::key, slot_of(d, stream, step), key, t.lines.x * channels));
    };
    read() = cast<uint16_t>(0);
    read() = read() | with_prefetch(bits(t.lines.y), bits(t.lines.y + keys_ahead(d, Cached::key, d.blocking.tiles.key_bytes_ahead)));
}

} // namespace

// Weights are such numbers already; times a value's scale they are rounded.
Expr packed_number(const Decode &d, const Expr &of_lane, const Expr &of_stream, const Expr &at_step) {
    const bool scaled = d.scaled_share.defined();
    const Expr share = (scaled ? d.scaled_share : d.share)(of_lane, of_stream, at_step, row, chunk, head, batch);
    return scaled ? round_to_bfloat16(share) : share;
}

Expr untiled(const Decode &d) { return d.tiled ? !d.tiled.used : Halide::Internal::const_true(); }

void declare_tiled(Decode &d) {
    const AttentionInputs &in = d.inputs;
    const DecodeBlocking::Tiles &tiles = d.blocking.tiles;
    if (tiles.size == 0 || !are_exact_in_bfloat16(in)) return;
    const int streams_of_part = tiles.products.depth();
    if (d.blocking.keys_per_panel != tiles.size || d.blocking.lanes != tiles.size || d.blocking.streams % streams_of_part != 0 ||
        d.blocking.in_turn || d.products.pairs)
        throw Halide::CompileError("attune: streams of decoding by tiles take turns, or their panels aren't tiles, or they aren't so many");
    // (The plan chooses by the same widths: runtime/src/attention/tasks.h.)
    const Expr fill = in.head_dim % (tiles.products.depth() * tiles.size) == 0 && in.value_dim % (tiles.vectors_at_once * tiles.size) == 0;
    const Expr used = Halide::Internal::simplify(fill && d.rows_per_head() >= tiles.fewest_rows);
    if (!is_const_zero(used)) d.tiled.used = used;
}

void declare_tiled_scores(Decode &d) {
    const AttentionInputs &in = d.inputs;
    TiledProducts &t = d.tiled;
    const int size = d.blocking.tiles.size, depth = products(d).depth();
    t.query_lines = Func("query_lines"), t.query = Func("tiled_query");
    const Cell of_row = cell_of_row(in, row, 0);
    t.query_lines(channel, vector, row, head, batch) = products(d).pack(
        [&](int which) { return in.query_channel(channel_of_word(d, vector, channel, which), of_row.query, of_row.head, batch); });
    t.query(row, word, head, batch) = Halide::undef(products(d).type());
    t.query_words = RDom(0, size, 0, in.head_dim / (depth * size), 0, select(t.used, 1, 0), "query_words");
    const RDom &words = t.query_words;
    t.query(row, words.y * size + words.x, head, batch) = t.query_lines(words.x, words.y, row, head, batch);
    auto declare = [&](const std::string &of, const auto &word_of_key, const auto &where) {
        TiledProducts::Scores s;
        s.dot = Func("dot" + of);
        s.dims = RDom(0, size, 0, in.head_dim / (depth * size), "dims" + of);
        auto dot = [&]() -> Halide::FuncRef { return s.dot(row, lane, stream, step, chunk, head, batch); };
        dot() = 0.0f;
        dot() = products(d).add(dot(), t.query(row, s.dims.y * size + s.dims.x, head, batch), word_of_key(s));
        s.store = RDom(0, d.blocking.keys_per_panel, 0, d.blocking.streams, 0, d.steps_per_chunk(), 0, select(t.used, 1, 0), "store" + of);
        const RDom &r = s.store;
        s.store.where(r.z < steps(d) && !comes_again(d, r.y, r.z) && where(r));
        d.masked(r.x, r.y, r.z, row, chunk, head, batch) = s.dot(row, r.x, r.y, r.z, chunk, head, batch) * in.scale;
        t.scores.push_back(s);
    };
    const auto whole = [&](const Expr &of_stream, const Expr &at_step) {
        return d.panel_at(slot_of(d, of_stream, at_step), chunk, head, batch)[2];
    };
    const auto lies = [&](const RDom &r) { return whole(r.y, r.z) != 0; };
    const bool may_lie = d.panel_at.defined() && !in.pages.scaled();
    declare(
        "_of_copies",
        [&](TiledProducts::Scores &s) {
            s.key = Func("tiled_key");
            s.key(channel, vector, lane, stream, step, chunk, head, batch) =
                in.pages.scaled() ? converted_word(d) : word_of(d, Cached::key, key_entry(d, lane, stream, step), vector);
            return s.key(s.dims.x, s.dims.y, lane, stream, step, chunk, head, batch);
        },
        [&](const RDom &r) { return may_lie ? !lies(r) : Halide::Internal::const_true(); });
    if (!may_lie) return;
    declare_read_keys(d);
    declare(
        "_in_place",
        [&](TiledProducts::Scores &s) {
            // 0, since these panels alone are whole: nothing of what was read counts, but the compiler can't tell.
            const Expr none = cast<int32_t>(t.read(stream, step, chunk, head, batch)) * (whole(stream, step) - 1);
            const Expr first = (s.dims.y * size + s.dims.x) * depth;
            return words_from(channel_in_whole_panel(d, Cached::key, slot_of(d, stream, step), lane,
                                                     Halide::unsafe_promise_clamped(first + none, 0, in.head_dim - depth)));
        },
        lies);
}

void declare_tiled_output(Decode &d) {
    TiledProducts &t = d.tiled;
    const int size = d.blocking.tiles.size, depth = products(d).depth();
    t.value = Func("tiled_value"), t.sum = Func("tiled_sum");
    t.value(channel, vector, word, stream, step, chunk, head, batch) = products(d).pack(
        [&](int which) { return as_float(tiled_channel(d, Cached::value, word * depth + which, stream, step, vector * size + channel)); });
    t.words = words_of_part(d, "tiled_words");
    const Expr of_stream = part * depth + t.words.y;
    // A tile may have more rows than there are. What is made of them isn't read, nor was their memory written.
    const Expr stored_row = Halide::unsafe_promise_clamped(row, 0, d.rows_per_head() - 1);
    auto sum = [&]() -> Halide::FuncRef { return t.sum(channel, vector, part, step, row, chunk, head, batch); };
    sum() = 0.0f;
    Expr value = t.value(channel, vector, t.words.x, of_stream, step, chunk, head, batch);
    if (d.panel_at.defined()) {
        // A line holds two vectors of a value, and a word two keys: with each of both, a line of one of the keys of the next step is asked
        // for.
        const int vectors_of_line = vectors_per_line(d, Cached::value, size);
        const Expr next = slot_of(d, of_stream, min(step + 1, steps(d) - 1)), key = t.words.x * depth + vector % vectors_of_line;
        value =
            with_prefetch(value, channel_in_whole_panel(d, Cached::value, next, key, vector / vectors_of_line * vectors_of_line * size));
    }
    sum() = products(d).add(sum(), value, d.packed_share(t.words.x, of_stream, step, stored_row, chunk, head, batch));
    const int at_once = d.blocking.tiles.vectors_at_once;
    t.outputs = RDom({{0, at_once},
                      {0, d.value_vectors() / at_once},
                      {0, d.steps_per_chunk()},
                      {0, d.blocking.streams / depth},
                      {0, select(t.used, 1, 0)}},
                     "tiled_outputs");
    // Of a part whose first panel comes again nothing is made. If its second one does, its keys weigh 0.
    const RDom &r = t.outputs;
    t.outputs.where(r[2] < steps(d) && !comes_again(d, r[3] * depth, r[2]));
    const Expr v = r[1] * at_once + r[0];
    auto output = [&]() -> Halide::FuncRef { return d.output(channel, v, row, chunk, head, batch); };
    output() = strict_add(output(), t.sum(channel, v, r[3], r[2], row, chunk, head, batch));
}

// As a matrix product too, all rows of it the same, so that what is left out changes no bit of the rest: values, which may not be finite,
// or shares of those that always are, but for their scales.
void declare_tiled_careful(Decode &d, const Expr &all_finite) {
    TiledProducts &t = d.tiled;
    const int depth = products(d).depth();
    const bool scaled = d.inputs.pages.scaled();
    const Halide::Var repeated("repeated");
    t.guarded = Func("guarded_value"), t.guarded_share = Func("guarded_share"), t.careful_sum = Func("tiled_careful_sum");
    t.guarded(channel, vector, word, stream, step, row, chunk, head, batch) = products(d).pack([&](int which) {
        const Expr key = word * depth + which;
        const Expr value = as_float(tiled_channel(d, Cached::value, key, stream, step, vector * d.blocking.lanes + channel));
        return scaled ? value : guarded_factor(d, value, key, stream);
    });
    t.guarded_share(word, stream, step, row, chunk, head, batch) = products(d).pack([&](int which) {
        const Expr key = word * depth + which, share = packed_number(d, key, stream, step);
        return scaled ? guarded_factor(d, share, key, stream) : share;
    });
    t.careful_words = words_of_part(d, "careful_words");
    const Expr of_part = t.careful_words.x, of_stream = part * depth + t.careful_words.y;
    auto sum = [&]() -> Halide::FuncRef { return t.careful_sum(channel, vector, repeated, part, step, row, chunk, head, batch); };
    sum() = 0.0f;
    sum() = products(d).add(sum(), t.guarded(channel, vector, of_part, of_stream, step, row, chunk, head, batch),
                            t.guarded_share(of_part, of_stream, step, row, chunk, head, batch));
    t.careful_outputs = RDom(0, d.steps_per_chunk(), 0, d.blocking.streams / depth, 0, select(t.used, 1, 0), "tiled_careful_outputs");
    const RDom &r = t.careful_outputs;
    t.careful_outputs.where(r.x < select(all_finite, 0, steps(d)) && !comes_again(d, r.y * depth, r.x));
    auto careful = [&]() -> Halide::FuncRef { return d.careful(channel, vector, row, chunk, head, batch); };
    careful() = strict_add(careful(), t.careful_sum(channel, vector, 0, r.y, r.x, row, chunk, head, batch));
}

} // namespace attune::dsl
