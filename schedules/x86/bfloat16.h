// Instructions on bf16.
#pragma once

#include <Halide.h>

#include "dsl/products.h"
#include "schedules/machine.h"

namespace attune::schedules::x86 {

/** The function of Halide's runtime that is this one instruction. Lanes must come in sixteens: there is none for one alone. */
inline Halide::Expr vdpbf16ps(const Halide::Expr &sum, const Halide::Expr &a, const Halide::Expr &b) {
    using Halide::Internal::Call;
    return Call::make(Halide::Float(32), "dpbf16ps", {sum, a, b}, Call::PureExtern);
}

/** vcvtne2ps2bf16, likewise, where a machine has it: else nothing. Numbers below 2^-126 become 0. */
inline dsl::ToBFloat16 to_bfloat16(const Machine &machine) {
    if (!machine.bfloat16_pairs) return {};
    return [](const Halide::Expr &x) {
        using Halide::Internal::Call;
        return Call::make(Halide::UInt(16), "vcvtne2ps2bf16", {x}, Call::PureExtern);
    };
}

/** Numbers that are rounded and stored at once: as many as that instruction takes, or a vector of f32. */
inline int stored_lanes(const Machine &machine) { return machine.bfloat16_pairs ? 2 * machine.float_lanes : machine.float_lanes; }

} // namespace attune::schedules::x86
