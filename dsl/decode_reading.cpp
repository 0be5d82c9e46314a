// How listed keys and their values are read, and those further on asked for.
#include "dsl/decode_parts.h"

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

// Elements from the head's first key, or value, to that of a listed key: of a panel whose keys lie one after the other; or by key.
Expr elements_in_panel(const Decode &d, Cached what, const Expr &listed) {
    const int keys = d.blocking.keys_per_panel;
    return d.panel_at(listed / keys, chunk, head, batch)[what == Cached::key ? 0 : 1] + cast<int64_t>(listed % keys) * stride_of(d, what);
}
Expr elements_to(const Decode &d, Cached what, const Expr &whole, const Expr &listed) {
    return branch(whole, elements_in_panel(d, what, listed), d.read_at(listed, chunk, head, batch)[what == Cached::key ? 0 : 1]);
}

// `elements` from the head's first. Each key has a place of its own besides, so that no load is taken for another's.
Expr channel_at(const Decode &d, Cached what, const Expr &listed, const Expr &elements, const Expr &c) {
    return displaced(cached(d, what)(c, listed, head, 0), elements - cast<int64_t>(listed) * stride_of(d, what));
}

Expr stored_channel(const Decode &d, Cached what, const Expr &whole, const Expr &listed, const Expr &c) {
    if (d.read_at.defined()) return channel_at(d, what, listed, elements_to(d, what, whole, listed), c);
    const Halide::FuncRef at = d.place_of_page(listed, chunk, head, batch);
    return cached(d, what)(c, at[0], head, at[1]);
}

// Whether the panel of a listed key is whole.
Expr in_whole_panel(const Decode &d, const Expr &listed) {
    return d.read_at.defined() ? is_whole(d, listed / d.blocking.keys_per_panel) : Halide::Internal::const_false();
}

} // namespace

Expr channel_of(const Decode &d, Cached what, const Expr &listed, const Expr &c) {
    return as_float(stored_channel(d, what, in_whole_panel(d, listed), listed, c));
}

Expr lane_of(const Decode &d, Cached what, int lanes, const Expr &listed, const Expr &v, const Ahead &ahead, const Expr &rest) {
    const int bytes = cached(d, what).types().front().bytes(), depth = d.products.depth(), line = 64;
    const Expr whole = in_whole_panel(d, listed);
    const Expr c = v * (lanes * depth) + (rest.defined() ? min(axes::channel, rest - 1) : Expr(axes::channel));
    auto lane_from = [&](const Expr &stored) { return d.products.pairs ? words_from(stored) : as_float(stored); };
    auto of_key = [&](const Expr &k) {
        const Expr stored = lane_from(stored_channel(d, what, whole, k, c));
        return rest.defined() ? select(axes::channel < rest, stored, 0.0f) : stored;
    };
    const std::vector<int> &distances = d.blocking.bytes_ahead;
    if (distances.empty() || !ahead.width.defined()) return of_key(listed);
    // A constant also where the width is none. (A limit on a quotient by the width is lost: inside loops over channels the compiler knows
    // that there are some, and it infers the table's extent from what it has simplified there.)
    const int64_t usual = 128, bytes_of_key = Halide::Internal::as_const_int(ahead.width).value_or(usual) * bytes;
    auto keys_in = [&](int64_t distance) { return int(std::clamp<int64_t>(distance / bytes_of_key, 1, DecodeBlocking::most_ahead)); };
    std::vector<int> keys; // at each distance, the furthest first
    for (int distance : distances)
        keys.push_back(keys_in(distance));
    // What a function of the distance in keys is at the one that is asked for first.
    auto asked = [&](const auto &at) {
        const int count = int(keys.size());
        Expr chosen = at(ahead.all ? keys.front() : keys.back());
        for (int i = 1; ahead.turn.defined() && i < count; i++)
            chosen = select(ahead.turn % count == i, at(keys[std::size_t(count - 1 - i)]), chosen);
        return select(ahead.alone, at(keys_in(d.blocking.bytes_ahead_alone)), chosen);
    };
    const Expr wanted = ahead.wanted && v % std::max(line / (lanes * depth * bytes), 1) == 0;
    if (!d.read_at.defined())
        return with_prefetch(of_key(listed), lane_from(stored_channel(d, what, whole, listed + asked([](int k) { return Expr(k); }), c)), wanted,
                             d.blocking.nearness);
    auto elements = [&](int further) { return elements_to(d, what, whole, listed + further); };
    std::vector<Expr> nearer;
    for (std::size_t i = 1; ahead.all && i < keys.size(); i++)
        nearer.push_back(elements(keys[i]) - elements(keys.front()));
    const Expr later = lane_from(channel_at(d, what, listed + keys.front(), asked(elements), c));
    return with_prefetch(of_key(listed), later, wanted, d.blocking.nearness, nearer);
}

Expr rest_count(const Expr &width, int lanes) { return (width % lanes + lanes - 1) / lanes; }

bool has_rest(const Expr &width, int lanes) { return !is_const_zero(Halide::Internal::simplify(width % lanes)); }

} // namespace attune::dsl
