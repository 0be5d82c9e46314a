// The instruction that multiplies and adds.
#pragma once

#include <Halide.h>

#include "dsl/numeric.h"
#include "schedules/machine.h"

namespace attune::schedules::x86 {

/** a b + c, rounded once. LLVM takes it as it stands: of a product and a sum, which it may join, it joins none that something else needs
 * as well, and rearranges sums of several. (Halide calls it lane by lane, of which LLVM makes vectors again.) Not on a machine without. */
inline Halide::Expr multiply_add(const Halide::Expr &a, const Halide::Expr &b, const Halide::Expr &c) {
    using Halide::Internal::Call;
    return Call::make(Halide::Float(32), "llvm.fma.f32", {a, b, c}, Call::PureExtern);
}

/** That, or nothing on a machine without. */
inline dsl::MultiplyAdd multiply_add(const Machine &machine) {
    if (!machine.fused) return {};
    return [](const Halide::Expr &a, const Halide::Expr &b, const Halide::Expr &c) { return multiply_add(a, b, c); };
}

} // namespace attune::schedules::x86
