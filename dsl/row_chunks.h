// A row's elements, some lanes at a time: what sums and maxima by lane run over.
#pragma once

#include <string>
#include <vector>

#include <Halide.h>

#include "dsl/axes.h"
#include "dsl/numeric.h"

namespace attune::dsl {

/** One stage of what is made by lane from a row: takes element `at`, for each of `steps` and dsl::axes::lane. */
struct RowChunk {
    Halide::RDom steps;
    Halide::Expr at;
    Halide::Expr counts; // whether no other lane takes it, too: what a maximum doesn't mind

    /** `value`, or `none` for an element that another lane takes. */
    Halide::Expr counted(const Halide::Expr &value, const Halide::Expr &none) const {
        return is_const_one(counts) ? value : select(counts, value, none);
    }
};

/** The stages of a row of `extent` elements. What fills no `lanes` is taken with the rest, lanes past the end taking the last element
 * again: each of them reads by itself. Or, with `vector` lanes that are read at once, apart: vectors end with the row at the latest, and
 * only in rows that are shorter than one do lanes read by themselves. */
inline std::vector<RowChunk> row_chunks(const Halide::Expr &extent, int lanes, int vector = 0) {
    using Halide::RDom, Halide::Expr;
    const Halide::Var &lane = axes::lane;
    const Expr always = Halide::Internal::const_true();
    if (lanes == 1) {
        const RDom all(0, extent, "chunks");
        return {{all, all, always}};
    }
    if (vector == 0) {
        const RDom all(0, divided_up(extent, lanes), "chunks");
        const Expr at = all * lanes + lane;
        return {{all, min(likely(at), extent - 1), likely(at < extent)}};
    }
    const Expr whole = extent / lanes, has_rest = extent % lanes != 0;
    const RDom chunks(0, whole, "chunks"), last(0, select(extent >= vector && has_rest, 1, 0), "last_chunk"),
        only(0, select(extent < vector, 1, 0), "only_chunk");
    const Expr begin = (whole + last) * lanes + lane / vector * vector, at = min(begin, extent - vector) + lane % vector;
    return {{chunks, chunks * lanes + lane, always},
            {last, Halide::unsafe_promise_clamped(at, 0, extent - 1), at >= begin},
            {only, min(only + lane % vector, extent - 1), only + lane < extent}};
}

/** What is made by lane, of `lanes` of them, with half of the lanes in each Func: lane l and lane l + half joined, until `left` are left.
 * Summed up one after the other, 64 lanes take as long as a row of some hundred elements. */
template <typename Join>
std::vector<Halide::Func> halved_lanes(const Halide::Func &by_lane, const std::string &name, int lanes, int left, const Join &join) {
    const int times = lanes / left;
    if (lanes % left != 0 || (times & (times - 1)) != 0)
        throw Halide::CompileError("attune: the lanes of " + by_lane.name() + " are no power of 2 times those that are left");
    std::vector<Halide::Func> halves;
    Halide::Func whole = by_lane;
    const std::vector<Halide::Var> args = by_lane.args();
    for (int half = lanes / 2; half >= left; half /= 2) {
        std::vector<Halide::Expr> other(args.begin(), args.end());
        for (Halide::Expr &arg : other)
            arg = Halide::Internal::substitute(axes::lane.name(), axes::lane + half, arg);
        Halide::Func next(name + "_by_" + std::to_string(half));
        next(args) = join(whole(args), whole(other));
        halves.push_back(whole = next);
    }
    return halves;
}

/** The lanes that are left, by what a lane has, joined one after the other from `none` on; one alone is all. */
template <typename OfLane, typename Join> void join_lanes(Halide::Func total, const std::vector<Halide::Var> &args,
                                                          const Halide::RDom &left, const Halide::Expr &none, const OfLane &of_lane,
                                                          const Join &join) {
    if (is_const_one(left.x.extent())) {
        total(args) = of_lane(0);
        return;
    }
    total(args) = none;
    total(args) = join(total(args), of_lane(left));
}

} // namespace attune::dsl
