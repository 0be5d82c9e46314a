// What is the same in all lanes of a vector.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** The scalar that a vector repeats in every lane; another expression as it is. */
inline Halide::Expr one_lane(const Halide::Expr &e) {
    const auto *vector = e.as<Halide::Internal::Broadcast>();
    return vector ? vector->value : e;
}

} // namespace attune::dsl
