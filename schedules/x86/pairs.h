// Multiplying pairs of bf16.
#pragma once

#include <Halide.h>

namespace attune::schedules::x86 {

/** The function of Halide's runtime that is this one instruction. Lanes must come in sixteens: there is none for one alone. */
inline Halide::Expr vdpbf16ps(const Halide::Expr &sum, const Halide::Expr &a, const Halide::Expr &b) {
    using Halide::Internal::Call;
    return Call::make(Halide::Float(32), "dpbf16ps", {sum, a, b}, Call::PureExtern);
}

} // namespace attune::schedules::x86
