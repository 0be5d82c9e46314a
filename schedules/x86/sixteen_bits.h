// Instructions on numbers of 16 bits.
#pragma once

#include <Halide.h>

#include "dsl/products.h"
#include "schedules/machine.h"

namespace attune::schedules::x86 {

/** How many lanes the two instructions below take at a time. */
constexpr int bfloat16_lanes = 16;

/** The function of Halide's runtime that is this one instruction. Lanes must come in sixteens: there is none for one alone. */
inline Halide::Expr vdpbf16ps(const Halide::Expr &sum, const Halide::Expr &a, const Halide::Expr &b) {
    using Halide::Internal::Call;
    return Call::make(Halide::Float(32), "dpbf16ps", {sum, a, b}, Call::PureExtern);
}

/** How a machine rounds so many numbers to 16 bits, in pipelines that dsl::lower_words() is called for. To bf16 by vcvtne2ps2bf16,
 * likewise, where it has it: numbers below 2^-126 become 0. */
inline dsl::Rounding rounding(const Machine &machine, int lanes = bfloat16_lanes) {
    dsl::Rounding r;
    r.blends = machine.float_lanes > 4; // SSE2 doesn't
    r.masks = machine.avx512;
    r.makes_short_nan = true;
    r.float16_keeps_nan = machine.converts_float16;
    if (machine.bfloat16_pairs && lanes % bfloat16_lanes == 0)
        r.to_bfloat16 = [](const Halide::Expr &x) {
            using Halide::Internal::Call;
            return Call::make(Halide::UInt(16), "vcvtne2ps2bf16", {x}, Call::PureExtern);
        };
    return r;
}

/** Numbers of a type that are rounded and stored at once: of 16 bits as many as one instruction packs of two registers, and of f32 as many
 * where other numbers are bf16, which that instruction rounds; otherwise a vector. */
inline int stored_lanes(const Machine &machine, const Halide::Type &type) {
    return type.bits() == 16 || machine.bfloat16_pairs ? 2 * machine.float_lanes : machine.float_lanes;
}

} // namespace attune::schedules::x86
