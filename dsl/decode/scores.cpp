// From q and k to masked scores.
#include "dsl/decode/parts.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/score.h"
#include "dsl/words.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

// The keys whose scores are made side by side are a group: a lane of every stream, or neighbours in a panel.
struct Groups {
    const Decode &d;
    const Halide::Var group{"group"}, of_stream{"of_stream"}, number{"number"}, row_of_vector{"row_of_vector"};

    int in_panel() const { return d.blocking.in_turn ? d.blocking.keys_per_panel / d.blocking.streams : d.blocking.keys_per_panel; }
    int with_groups() const { return d.blocking.in_turn ? d.blocking.streams : 1; } // streams
    // Where key `number` of a group has its place.
    Expr lane(const Expr &number, const Expr &group) const { return d.blocking.in_turn ? group * d.blocking.streams + number : group; }
    Expr stream(const Expr &number, const Expr &of_stream) const { return d.blocking.in_turn ? of_stream : number; }
};

void declare_query(Decode &d) {
    const AttentionInputs &in = d.inputs;
    const Products &products = d.products;
    const Cell of_row = cell_of_row(in, row, 0);
    auto query_channel = [&](const Expr &c) {
        Expr x = in.query_channel(c, of_row.query, of_row.head, batch);
        return products.pairs ? x : x * in.scale;
    };
    const int lanes = d.blocking.lanes;
    const Expr is_split = dim < d.whole_vectors(Cached::key) * lanes;
    const Expr split = unsafe_promise_clamped(select(is_split, split_element(dim / lanes, dim % lanes, lanes), dim), 0, in.head_dim - 1);
    d.query(dim, row, head, batch) = d.by_words ? query_channel(split) : products.pack([&](int which) {
        return query_channel(d.makes_pairs() ? channel_of_word(d, dim / lanes, dim % lanes, which) : dim * products.depth() + which);
    });
    const Expr rest = rest_of(d, Cached::key);
    d.rest_query(dim, row, head, batch) = select(dim < rest, query_channel(in.head_dim - rest + min(dim, rest - 1)), 0.0f);
}

// Queries of rows beside each other in a vector, each with as many channels of its own.
Func queries_of_rows(const Decode &d, const KeyProducts &p, const std::string &suffix) {
    const int vector_lanes = d.blocking.lanes;
    Func query("query" + suffix);
    const Expr vector_of_dim = dim / vector_lanes, of_lane = dim % p.lanes;
    const SplitElement split(split_element(vector_of_dim, of_lane, p.lanes), vector_lanes);
    const Expr place = d.by_words ? split.vector * vector_lanes + split.lane : vector_of_dim * p.lanes + of_lane;
    query(dim, row, head, batch) = d.query(place, row * p.rows_per_vector + dim % vector_lanes / p.lanes, head, batch);
    return query;
}

// What `dot` has by lane is halved until there is one sum for each key and row. Halves rather than neighbours: those of several keys are
// brought together by shuffles that need no table of lanes.
void add_lanes(KeyProducts &p, const Groups &groups, const std::string &suffix) {
    const Halide::Var &group = groups.group, &of_stream = groups.of_stream;
    p.halves = RDom(0, 2, "halves" + suffix);
    for (int left = p.lanes / 2; left > 0; left /= 2) {
        const Func before = p.sums.empty() ? p.dot : p.sums.back();
        auto at = [&](const Expr &c) { return before(c, group, of_stream, step, row, chunk, head, batch); };
        Func sum("sums_by_" + std::to_string(left) + suffix);
        sum(channel, group, of_stream, step, row, chunk, head, batch) = 0.0f;
        sum(channel, group, of_stream, step, row, chunk, head, batch) += at((channel / left * 2 + p.halves) * left + channel % left);
        p.sums.push_back(sum);
    }
}

// `alone`: where one row reads a key.
KeyProducts key_products(const Decode &d, const Groups &groups, int rows_per_vector, const Expr &alone) {
    const AttentionInputs &in = d.inputs;
    const Products &products = d.products;
    const int vector_lanes = d.blocking.lanes;
    KeyProducts p;
    p.rows_per_vector = rows_per_vector, p.lanes = vector_lanes / rows_per_vector;
    const std::string suffix = rows_per_vector > 1 ? "_of_rows" : "";
    p.query = rows_per_vector > 1 ? queries_of_rows(d, p, suffix) : d.query;
    const Ahead ahead = {true, alone, rows_per_vector > 1};
    const Expr listed = key_entry(d, lane, stream, step);
    // Sums by channel of a group's keys side by side, so that they can be halved until there is one for each key and row.
    const Expr of_vector = channel % vector_lanes, of_row = channel % p.lanes, number = channel / vector_lanes;
    const Halide::Var &group = groups.group, &of_stream = groups.of_stream;
    const Expr key_lane = groups.lane(number, group), key_stream = groups.stream(number, of_stream);
    p.dot = Func("dot" + suffix);
    auto dot = [&]() -> Halide::FuncRef { return p.dot(channel, group, of_stream, step, row, chunk, head, batch); };
    auto query = [&](const Expr &v) { return p.query(v * vector_lanes + of_vector, row, head, batch); };
    // `count` more vectors, each the lanes `of_key`: those of the group's keys.
    auto more = [&](const std::string &name, const Expr &count, const Expr &of_key) -> Expr {
        p.vectors.push_back({Func(name + "key_vector" + suffix), RDom(0, count, name + "dims" + suffix)});
        auto &[key, dims] = p.vectors.back();
        key(channel, vector, lane, stream, step, chunk, head, batch) = of_key;
        return key(of_row, dims, key_lane, key_stream, step, chunk, head, batch);
    };
    dot() = 0.0f;
    const Expr whole = in.head_dim / (p.lanes * d.channels_per_lane(Cached::key));
    const Expr key = more("", whole, lane_of(d, Cached::key, p.lanes, listed, vector, ahead)), v = p.vectors.back().dims;
    if (d.by_words)
        dot() += query(2 * v) * bfloat16_of_words(key, 0) + query(2 * v + 1) * bfloat16_of_words(key, 1);
    else
        dot() = products.add(dot(), query(v), key);
    if (rows_per_vector == 1 && may_be_some(single_vectors(d, Cached::key))) {
        const Expr single = more("single_", single_vectors(d, Cached::key), single_lane_of(d, Cached::key, listed, ahead));
        dot() += query(d.whole_vectors(Cached::key) + p.vectors.back().dims) * single;
    }
    if (has_rest(d, Cached::key)) {
        const Expr rest = more("rest_", rest_vectors(d, Cached::key), rest_lane_of(d, Cached::key, listed, vector, ahead));
        dot() += d.rest_query(p.vectors.back().dims * p.lanes + of_row, row, head, batch) * rest;
    }
    add_lanes(p, groups, suffix);
    // The keys of a row side by side.
    p.score = Func("score_of_key" + suffix);
    Expr sum = p.sums.back()(groups.number * rows_per_vector + groups.row_of_vector, group, of_stream, step, row, chunk, head, batch);
    p.score(groups.number, groups.row_of_vector, group, of_stream, step, row, chunk, head, batch) = products.pairs ? sum * in.scale : sum;
    return p;
}

// Rows share vectors where keys are short, no channels are left over, and numbers aren't made pairs of parts a whole vector apart.
int rows_per_vector(const Decode &d) {
    const auto width = Halide::Internal::as_const_int(d.inputs.head_dim);
    const bool is_short = width && *width * d.inputs.pages.key.type().bytes() <= d.blocking.short_key;
    const bool in_vectors = !may_be_some(d.inputs.head_dim % (d.blocking.lanes * d.channels_per_lane(Cached::key)));
    return is_short && in_vectors && !d.makes_pairs() ? d.blocking.rows_per_vector : 1;
}

void declare_stores(Decode &d, const Groups &groups) {
    const Expr alone = d.rows_per_head() == 1;
    if (const int several = rows_per_vector(d); several == 1)
        d.scores = {key_products(d, groups, 1, alone)};
    else
        d.scores = {key_products(d, groups, 1, Halide::Internal::const_true()),
                    key_products(d, groups, several, Halide::Internal::const_false())};
    for (KeyProducts &p : d.scores) {
        const int several = p.rows_per_vector;
        Expr used = d.scores.size() == 1 ? Halide::Internal::const_true() : several == 1 ? alone : !alone;
        p.store = RDom(0, d.blocking.streams, 0, groups.in_panel(), 0, groups.with_groups(), 0, d.steps_per_chunk(),
                       several == 1 ? "store_steps" : "store_steps_of_rows");
        const RDom &r = p.store;
        p.store.where(r.w < select(used && untiled(d), steps(d), 0));
        d.masked(groups.lane(r.x, r.y), groups.stream(r.x, r.z), r.w, row, chunk, head, batch) =
            p.score(r.x, row % several, r.y, r.z, r.w, row / several, chunk, head, batch);
    }
}

} // namespace

void declare_decode_scores(Decode &d) {
    const AttentionInputs &in = d.inputs;
    const Groups groups{d};
    declare_query(d);
    auto at = [&](const RDom &r) -> Halide::FuncRef { return d.masked(lane, r.x, r.y, row, chunk, head, batch); };
    auto key_of = [&](const RDom &r) { return panel_begin(d, r.x, r.y) + lane; };
    // Keys past the last one have no cell in a tensor.
    auto tensor_keys = [&](const char *name, const Expr &used) {
        RDom r = steps_of(d, name, used);
        r.where(key_of(r) < in.keys);
        return r;
    };
    auto cell = [&](const RDom &r) { return cell_of_row(in, row, Halide::unsafe_promise_clamped(key_of(r), 0, in.keys - 1)); };
    d.masked(lane, stream, step, row, chunk, head, batch) = Halide::undef<float>();
    declare_stores(d, groups);
    if (d.tiled) declare_tiled_scores(d);

    if (in.pages.scaled()) {
        const RDom scaled = steps_of(d, "scaled_steps");
        at(scaled) *= scale_of(d, Scale::key, key_entry(d, lane, scaled.x, scaled.y));
        d.stages.push_back(scaled);
    }

    const RDom cap = steps_of(d, "cap_steps", in.softcap > 0.0f);
    at(cap) = softcap(at(cap), Cap(in.softcap));

    const RDom relative = tensor_keys("relative_steps", in.use_relative != 0);
    const Cell apart = cell(relative);
    at(relative) +=
        in.relative(Halide::unsafe_promise_clamped(apart.query - apart.key + in.keys - 1, 0, in.queries + in.keys - 2), apart.head, batch);

    const RDom bias = tensor_keys("bias_steps", in.use_bias != 0);
    const Cell biased = cell(bias);
    at(bias) = add_bias(at(bias), in.bias(biased.key, biased.query, biased.head, batch));

    const RDom attend = tensor_keys("attend_steps", in.use_attend != 0);
    at(attend) = mask_score(at(attend), boolean_tensor(in.attend).allows(cell(attend)));

    // What no interval holds is masked: an interval keeps its own keys, and the rest of a row lies between two of them.
    RDom gaps(0, d.blocking.streams, 0, in.intervals.count + 1, 0, d.steps_per_chunk(), "gap_steps");
    gaps.where(gaps.z < select(d.full(chunk, head, batch) != 0, 0, steps(d)));
    const Cell of_row = cell_of_row(in, row, panel_begin(d, gaps.x, gaps.z) + lane);
    const auto [begin, end] = in.intervals.gap(gaps.y, of_row);
    Expr repeated = comes_again(d, gaps.x, gaps.z);
    Expr unmasked = d.masked(lane, gaps.x, gaps.z, row, chunk, head, batch);
    d.masked(lane, gaps.x, gaps.z, row, chunk, head, batch) =
        mask_score(unmasked, !(repeated || (of_row.key >= begin && of_row.key < end)));
    d.stages.insert(d.stages.end(), {cap, relative, bias, attend, gaps});
}

} // namespace attune::dsl
