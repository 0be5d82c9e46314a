// Loops that several schedules of attention write alike.
#pragma once

#include <vector>

#include "dsl/axes.h"

namespace attune::schedules::x86 {

/** An update over `keys`: rows innermost, in vectors of `lanes`. */
inline void rows_innermost(Halide::Func f, int stage, const Halide::RDom &keys, int lanes) {
    std::vector<Halide::VarOrRVar> order = {dsl::axes::row};
    for (int i = 0; i < keys.dimensions(); i++)
        order.emplace_back(keys[i]);
    f.update(stage).reorder(order).vectorize(dsl::axes::row, lanes);
}

} // namespace attune::schedules::x86
