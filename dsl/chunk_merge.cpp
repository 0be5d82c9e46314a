#include "dsl/chunk_merge.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/softmax.h"

namespace attune::dsl {

using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

RDom all_chunks(const ChunkStates &states, const char *name) {
    if (states.at_once == 1) return RDom(0, states.count, name);
    RDom chunks(0, states.at_once, 0, divided_up(states.count, states.at_once), name);
    if (states.first.defined()) chunks.where(chunks.y >= states.first / states.at_once && chunks.y <= states.last / states.at_once);
    return chunks;
}

Expr nth_of(const ChunkStates &states, const RDom &chunks) {
    return states.at_once == 1 ? Expr(chunks.x) : chunks.y * states.at_once + chunks.x;
}

Expr clamped(const ChunkStates &states, const Expr &nth) { return states.at_once == 1 ? nth : min(nth, states.count - 1); }

Expr or_nothing(const ChunkStates &states, const Expr &nth, const Expr &term) {
    return states.at_once == 1 ? term : select(nth < states.count, term, 0.0f);
}

} // namespace

// As dsl::state's merges, but of all chunks at once.
ChunkMerge merge_chunks(const ChunkStates &states) {
    ChunkMerge m{Func("joint_maximum"), Func("factor"), Func("merged"), all_chunks(states, "chunks"), all_chunks(states, "merges")};
    m.joint(states.rows) = masked_score();
    m.joint(states.rows) = max(m.joint(states.rows), states.maximum(clamped(states, nth_of(states, m.chunks))));

    std::vector<Halide::Var> of_chunk = states.rows, of_element = states.elements;
    of_chunk.insert(of_chunk.begin(), axes::chunk);
    of_element.insert(of_element.end(), states.rows.begin(), states.rows.end());
    const Expr nth = nth_of(states, m.merges), merged = clamped(states, nth);
    std::vector<Expr> of_merge(states.rows.begin(), states.rows.end());
    of_merge.insert(of_merge.begin(), merged);
    const Expr maximum = states.maximum(axes::chunk);
    m.factor(of_chunk) = weight_above_zero(maximum, relative_weight(maximum, m.joint(states.rows), states.base2_scale));
    m.merged(of_element) = 0.0f;
    m.merged(of_element) += or_nothing(states, nth, m.factor(of_merge) * states.element(merged));
    return m;
}

} // namespace attune::dsl
