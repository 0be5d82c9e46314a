// Loops that several schedules write alike.
#pragma once

#include <vector>

#include "dsl/axes.h"
#include "dsl/row_chunks.h"

namespace attune::schedules::x86 {

/** An update over `keys`: rows innermost, in vectors of `lanes`. */
inline void rows_innermost(Halide::Func f, int stage, const Halide::RDom &keys, int lanes) {
    std::vector<Halide::VarOrRVar> order = {dsl::axes::row};
    for (int i = 0; i < keys.dimensions(); i++)
        order.emplace_back(keys[i]);
    f.update(stage).reorder(order).vectorize(dsl::axes::row, lanes);
}

/** The updates of what is summed up by lane, over a row: lanes in vectors of `lanes`, side by side. */
inline void by_chunks(Halide::Func partial, const std::vector<dsl::RowChunk> &chunks, int lanes) {
    for (int i = 0; i < int(chunks.size()); i++)
        partial.update(i).reorder(dsl::axes::lane, chunks[size_t(i)].steps).vectorize(dsl::axes::lane, lanes).unroll(dsl::axes::lane);
}

} // namespace attune::schedules::x86
