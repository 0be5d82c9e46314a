#include "dsl/document_ranges.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Tuple;
using Halide::Var;

namespace {

const Var range{"range"};

void declare_ids(DocumentRanges &d, const DocumentIds &in) {
    const int count = in.queries_a_range;
    d.ids = Func("ids"), d.queries = RDom(0, count, "queries_of_range");
    const Expr id = in.of_queries(min(range * count + d.queries, in.queries - 1), batch);
    d.ids(range, batch) = Tuple(Halide::Int(32).max(), Halide::Int(32).min());
    d.ids(range, batch) = Tuple(min(d.ids(range, batch)[0], id), max(d.ids(range, batch)[1], id));
}

Tuple joined(const Halide::FuncRef &so_far, const Expr &first, const Expr &last, const Expr &count) {
    return {min(so_far[0], first), max(so_far[1], last), so_far[2] + count};
}

void declare_keys(DocumentRanges &d, const DocumentIds &in, int lanes) {
    d.lane_keys = Func("lane_keys"), d.keys = Func("keys_of_range");
    d.chunks = RDom(0, divided_up(in.keys, lanes), "chunks"), d.lanes = RDom(0, lanes, "lanes");
    const Expr token = d.chunks * lanes + lane, id = in.of_keys(min(token, in.keys - 1), batch);
    const Tuple ids = d.ids(range, batch), none(in.keys, -1, 0);
    const Expr is_theirs = token < in.keys && ids[0] <= id && id <= ids[1], is_the_one = is_theirs && ids[0] == ids[1];
    d.lane_keys(lane, range, batch) = none;
    d.lane_keys(lane, range, batch) = joined(d.lane_keys(lane, range, batch), select(is_theirs, token, none[0]),
                                             select(is_theirs, token, none[1]), select(is_the_one, 1, 0));
    const Halide::FuncRef of_lane = d.lane_keys(d.lanes, range, batch);
    d.keys(range, batch) = none;
    d.keys(range, batch) = joined(d.keys(range, batch), of_lane[0], of_lane[1], of_lane[2]);
}

} // namespace

DocumentRanges document_ranges(const DocumentIds &in, int lanes) {
    DocumentRanges d;
    declare_ids(d, in);
    declare_keys(d, in, lanes);
    d.result = Func("document_ranges");
    const Tuple keys = d.keys(range, batch);
    const Expr is_last = which == int(DocumentRange::last) || which == int(DocumentRange::last_full);
    const Expr is_full = which == int(DocumentRange::first_full) || which == int(DocumentRange::last_full);
    const Expr none = is_full && keys[2] != keys[1] - keys[0] + 1;
    d.result(which, range, batch) = select(none, select(is_last, -1, in.keys), is_last, keys[1], keys[0]);
    return d;
}

} // namespace attune::dsl
