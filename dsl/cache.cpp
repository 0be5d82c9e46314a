#include "dsl/cache.h"

#include "dsl/axes.h"

namespace attune::dsl {

using namespace axes;
using Halide::cast;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::unsafe_promise_clamped;
using Halide::Var;

namespace {

// Of numbers that aren't negative: a GPU divides unsigned ones in fewer instructions.
Expr quotient(const Expr &a, const Expr &b) { return cast<int32_t>(cast<uint32_t>(a) / cast<uint32_t>(b)); }

} // namespace

CacheWrite cache_write(const CacheWriteInputs &in) {
    CacheWrite w{Func("cache"), RDom(0, in.channels, 0, in.tokens, 0, in.heads, 0, in.items, "written")};
    const RDom &r = w.written;
    const Expr start = in.start(r.w), circular = in.circular != 0;
    // No further than the end, so that no sum is beyond 32 bits: Halide moves terms of a comparison from side to side.
    const Expr from = select(circular, start - quotient(start, in.capacity) * in.capacity, clamp(start, 0, in.capacity));
    const Expr room = in.capacity - from; // before the end
    const Expr place = select(r.y < room, from + r.y, r.y - room), nth = quotient(place, in.page_size);
    const Expr page = in.page(nth, r.w);
    w.written.where(start >= 0 && (circular || r.y < room) && page >= 0 && page < in.pages);
    const Var nth_page("page");
    w.cache(dim, token, head, nth_page) = Halide::undef(in.update.types()[0]);
    w.cache(r.x, unsafe_promise_clamped(place - nth * in.page_size, 0, in.page_size - 1), r.z,
            unsafe_promise_clamped(page, 0, in.pages - 1)) = in.update(r.x, r.y, r.z, r.w);
    return w;
}

CacheCounts cache_counts(const Func &lengths, const Expr &new_tokens, const Expr &queries, const Expr &capacity) {
    CacheCounts c{Func("cache_counts")};
    const Expr tokens = clamp(lengths(batch), 0, capacity) + new_tokens;
    c.result(batch, which) = select(which == 0, min(tokens, capacity), tokens - queries);
    return c;
}

} // namespace attune::dsl
