// What several schedules say of bounds.
#pragma once

#include <vector>

#include <Halide.h>

namespace attune::schedules {

/** There is one of each of these axes, of those that the Func has, where it is computed: said outright where Halide can't prove it, since
 * code for a loop over one value of an axis that it thinks has many isn't vectorised. */
inline void only_one(Halide::Func f, const std::vector<Halide::Var> &axes) {
    for (const Halide::Var &own : f.args())
        for (const Halide::Var &axis : axes)
            if (own.name() == axis.name()) f.bound_extent(own, 1);
}

} // namespace attune::schedules
