// How listed keys and their values are read, and those further on asked for.
#include "dsl/decode/parts.h"

#include <algorithm>

#include "dsl/axes.h"
#include "dsl/displaced.h"
#include "dsl/numeric.h"
#include "dsl/prefetch.h"
#include "dsl/words.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;

namespace {

const Func &cached(const Decode &d, Cached what) { return what == Cached::key ? d.inputs.pages.key : d.inputs.pages.value; }

Expr stride_of(const Decode &d, Cached what) {
    return cast<int64_t>((what == Cached::key ? d.inputs.pages.key_strides : d.inputs.pages.value_strides)->place);
}

// Elements from the head's first key, or value, to that of a listed key.
Expr elements_to(const Decode &d, Cached what, const Expr &whole, const Expr &listed) {
    const int keys = d.blocking.keys_per_panel;
    const Expr by_key = d.read_at(listed, chunk, head, batch)[what == Cached::key ? 0 : 1];
    return branch(whole, elements_in_panel(d, what, listed / keys, listed % keys), by_key);
}

// `elements` from the head's first. Each key has a place of its own besides, so that no load is taken for another's.
Expr channel_at(const Decode &d, Cached what, const Expr &listed, const Expr &elements, const Expr &c) {
    return displaced(cached(d, what)(c, listed, head, 0), elements - cast<int64_t>(listed) * stride_of(d, what));
}

// Channel `c`, counted from channel `from`.
Expr stored_channel(const Decode &d, Cached what, const Expr &whole, const Expr &listed, const Expr &c, const Expr &from = 0) {
    if (d.read_at.defined()) return channel_at(d, what, listed, elements_to(d, what, whole, listed) + from, c);
    const Halide::FuncRef at = d.place_of_page(listed, chunk, head, batch);
    const Expr of_key = is_const_zero(from) ? c : unsafe_promise_clamped(from + c, 0, d.width(what) - 1);
    return cached(d, what)(of_key, at[0], head, at[1]);
}

// Whether a listed key is found by its panel, and not by an entry of its own.
Expr is_found_by_panel(const Decode &d, const Expr &listed) {
    return d.panel_at.defined() && d.blocking.in_turn ? is_whole(d, listed / d.blocking.keys_per_panel) : Halide::Internal::const_false();
}

} // namespace

Expr elements_in_panel(const Decode &d, Cached what, const Expr &slot, const Expr &of_lane) {
    return d.panel_at(slot, chunk, head, batch)[what == Cached::key ? 0 : 1] + cast<int64_t>(of_lane) * stride_of(d, what);
}

Expr channel_of(const Decode &d, Cached what, const Expr &listed, const Expr &c) {
    return as_float(stored_channel(d, what, is_found_by_panel(d, listed), listed, c));
}

namespace {

// Channels of a listed key, or of its value, side by side.
struct Channels {
    Expr from, first;              // the first, counted from another
    enum { numbers, words } lanes; // what is in a lane: a channel, or two
    Expr count = {};               // how many there are, if that isn't sure to be a whole vector
};

// How many keys, or values, further on are asked for, the furthest first, where several rows read a key.
std::vector<int> further_on(const Decode &d, Cached what, bool all) {
    std::vector<int> keys;
    for (int distance : what == Cached::key ? d.blocking.bytes_ahead : d.blocking.value_bytes_ahead)
        keys.push_back(keys_ahead(d, what, distance));
    if (!all) keys = {keys.back()};
    return keys;
}

// Lane `channel` of these.
Expr lane_from(const Decode &d, Cached what, const Expr &listed, const Channels &of, const Expr &wanted, const Ahead &ahead) {
    const Expr whole = is_found_by_panel(d, listed), width = d.width(what), &count = of.count, &from = of.from;
    const Expr in_vector = count.defined() ? min(axes::channel, count - 1) : axes::channel;
    const bool is_sure = !count.defined() && is_const_zero(from); // of itself, to be one that there is
    const Expr c = is_sure ? of.first + in_vector : unsafe_promise_clamped(of.first + in_vector, 0, width - 1);
    auto in_lane = [&](const Expr &stored) { return of.lanes == Channels::words ? words_from(stored) : as_float(stored); };
    const Expr stored = in_lane(stored_channel(d, what, whole, listed, c, from));
    const Expr now = count.defined() ? select(axes::channel < count, stored, 0.0f) : stored;
    if (d.blocking.bytes_ahead.empty() || !ahead.asks) return now;
    const std::vector<int> keys = further_on(d, what, ahead.all && d.panel_at.defined());
    const int keys_alone = keys_ahead(d, what, d.blocking.bytes_ahead_alone), first = keys.front();
    const Expr asks = ahead.wanted && wanted;
    // What a function of the distance in keys is at the one that is asked for first.
    auto asked = [&](const auto &at) { return select(ahead.alone, at(keys_alone), at(first)); };
    if (!d.panel_at.defined()) {
        const Expr further = listed + asked([](int k) { return Expr(k); });
        return with_prefetch(now, in_lane(stored_channel(d, what, whole, further, c, from)), asks, d.blocking.nearness);
    }
    auto elements = [&](int further) { return elements_to(d, what, whole, listed + further) + from; };
    std::vector<Expr> nearer;
    for (std::size_t i = 1; i < keys.size(); i++)
        nearer.push_back(select(ahead.alone, cast<int64_t>(0), elements(keys[i]) - elements(first)));
    const Expr later = in_lane(channel_at(d, what, listed + first, asked(elements), c));
    return with_prefetch(now, later, asks, d.blocking.nearness, nearer);
}

// Whether a vector of so many channels is the first of its line, if a key begins with one.
Expr begins_line(const Decode &d, Cached what, const Expr &nth, int channels) { return nth % vectors_per_line(d, what, channels) == 0; }

} // namespace

bool are_exact_in_bfloat16(const AttentionInputs &in) {
    const auto is_bfloat = [](const Func &f) { return f.type().is_bfloat(); };
    return is_bfloat(in.query) && (in.pages.scaled() || (is_bfloat(in.pages.key) && is_bfloat(in.pages.value)));
}

Expr channel_of_word(const Decode &d, const Expr &of_vector, const Expr &of_lane, int which) {
    const int lanes = d.blocking.lanes, depth = 2;
    return of_vector * (lanes * depth) + (d.inputs.pages.scaled() ? which * lanes + of_lane : of_lane * depth + which);
}

// A constant also where the width is none. (A limit on a quotient by the width is lost: inside loops over channels the compiler knows that
// there are some, and it infers the table's extent from what it has simplified there.)
int keys_ahead(const Decode &d, Cached what, int distance) {
    const int64_t usual = 128, width = Halide::Internal::as_const_int(d.width(what)).value_or(usual);
    return int(std::clamp<int64_t>(distance / (width * cached(d, what).types().front().bytes()), 1, DecodeBlocking::most_ahead));
}

Expr lane_of(const Decode &d, Cached what, int lanes, const Expr &listed, const Expr &v, const Ahead &ahead, const Expr &from) {
    const int channels = lanes * d.channels_per_lane(what);
    const Expr begins = begins_line(d, what, v, channels);
    if (d.makes_pairs())
        return d.products.pack([&](int which) {
            const Channels of = {from, v * channels + which * lanes, Channels::numbers};
            return lane_from(d, what, listed, of, begins, which == 0 ? ahead : Ahead{});
        });
    const auto of = d.in_words() ? Channels::words : Channels::numbers;
    return lane_from(d, what, listed, {from, v * channels, of}, begins, ahead);
}

Expr number_lane_of(const Decode &d, Cached what, const Expr &listed, const Expr &v, const Ahead &ahead, const Expr &from) {
    const int lanes = d.blocking.lanes;
    return lane_from(d, what, listed, {from, v * lanes, Channels::numbers}, begins_line(d, what, v, lanes), ahead);
}

Expr single_lane_of(const Decode &d, Cached what, const Expr &listed, const Ahead &ahead) {
    const Expr from = d.whole_vectors(what) * d.blocking.lanes;
    return lane_from(d, what, listed, {from, 0, Channels::numbers, d.blocking.lanes}, Halide::Internal::const_true(), ahead);
}

Expr rest_lane_of(const Decode &d, Cached what, const Expr &listed, const Expr &v, const Ahead &ahead, const Expr &from) {
    const int lanes = d.blocking.lanes;
    const Expr width = d.width(what), rest = rest_of(d, what);
    const Expr count = d.products.pairs ? min(rest - v * lanes, lanes) : rest;
    const Expr first = from.defined() ? from : width - rest;
    return lane_from(d, what, listed, {first, v * lanes, Channels::numbers, count}, begins_line(d, what, v, lanes), ahead);
}

Expr word_of(const Decode &d, Cached what, const Expr &listed, const Expr &nth) {
    const int lanes = d.blocking.lanes;
    const Expr c = unsafe_promise_clamped(nth * (2 * lanes) + axes::channel, 0, d.width(what) - 1);
    return words_from(stored_channel(d, what, is_found_by_panel(d, listed), listed, c));
}

Expr channel_in_whole_panel(const Decode &d, Cached what, const Expr &slot, const Expr &of_lane, const Expr &c) {
    const Expr channel = Halide::unsafe_promise_clamped(c, 0, d.width(what) - 1);
    return channel_at(d, what, key_in_slot(d, slot, of_lane), elements_in_panel(d, what, slot, of_lane), channel);
}

Expr tiled_channel(const Decode &d, Cached what, const Expr &of_lane, const Expr &of_stream, const Expr &at_step, const Expr &of_head) {
    const Expr listed = key_entry(d, of_lane, of_stream, at_step), c = Halide::unsafe_promise_clamped(of_head, 0, d.width(what) - 1);
    if (!d.panel_at.defined()) return stored_channel(d, what, Halide::Internal::const_false(), listed, c);
    const Expr slot = slot_of(d, of_stream, at_step), by_key = d.read_at(listed, chunk, head, batch)[what == Cached::key ? 0 : 1];
    return channel_at(d, what, listed, branch(is_whole(d, slot), elements_in_panel(d, what, slot, of_lane), by_key), c);
}

Expr single_vectors(const Decode &d, Cached what) {
    return d.by_words ? Halide::Internal::simplify(d.width(what) / d.blocking.lanes - d.whole_vectors(what)) : 0;
}

int vectors_per_line(const Decode &d, Cached what, int channels) {
    return std::max(bytes_per_line / (channels * cached(d, what).types().front().bytes()), 1);
}

bool has_rest(const Decode &d, Cached what) { return may_be_some(rest_of(d, what)); }

Expr rest_of(const Decode &d, Cached what) { return d.width(what) % (d.blocking.lanes * (d.by_words ? 1 : d.channels_per_lane(what))); }

Expr rest_vectors(const Decode &d, Cached what) { return (rest_of(d, what) + d.blocking.lanes - 1) / d.blocking.lanes; }

bool may_be_some(const Expr &count) { return !is_const_zero(Halide::Internal::simplify(count)); }

} // namespace attune::dsl
