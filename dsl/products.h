// The two products of attention, and how their operands are stored: as f32, or as pairs of bf16 in 32 bits, two of whose products are
// added at once. Declarations say neither; they pack, add and unpack.
#pragma once

#include <functional>
#include <vector>

#include <Halide.h>

namespace attune::dsl {

/** x as f32, for x of f32, f16 or bf16. bf16 goes by its bits: Halide 21 takes a cast for arithmetic to be emulated. */
Halide::Expr as_float(const Halide::Expr &x);

/** What a machine can do to round to 16 bits. */
struct Rounding {
    /** The bits, as u16, of the number of bf16 nearest to the f32 x, ties to even; NaN for NaN. One that takes numbers below 2^-126 for 0
     * will do. If empty, integer operations do it. */
    std::function<Halide::Expr(const Halide::Expr &x)> to_bfloat16 = {};
    bool blends = true;             // whether one instruction selects by a sign; else NaN goes another way there
    bool masks = false;             // whether it selects by unsigned comparisons (AVX-512); only in pipelines lower_words() is called for
    bool makes_short_nan = false;   // whether a NaN that arithmetic makes of numbers has a lower half of 0. CUDA's GPUs set all its bits.
    bool float16_keeps_nan = false; // whether its f16 of NaN is NaN. Halide's arithmetic, where there is no instruction, makes Inf of it.
};

/** Which NaN may come: any that f32 has, or those that arithmetic makes itself or passes on of numbers of the type that is rounded to. */
enum class NaN { any, of_type };

/** The f32 x in a type: the nearest number of it, ties to even; NaN for NaN, of those that may come. */
Halide::Expr as_type(const Halide::Type &type, const Halide::Expr &x, const Rounding &rounding = {}, NaN nan = NaN::any);

/** u32 whose upper half is that of the bits of the nearest bf16, ties to even, to the f32 of bits `bits`. A NaN of a mantissa near its end
 * runs over, into 0 or the sign. */
Halide::Expr rounded_to_upper_half(const Halide::Expr &bits);

/** The number of bf16 nearest to the f32 x, as f32; NaN for NaN. */
Halide::Expr round_to_bfloat16(const Halide::Expr &x);

/** The same with ties away from 0, in two operations; NaN for a NaN whose lower half is 0, as that of arithmetic. */
Halide::Expr round_away_to_bfloat16(const Halide::Expr &x);

/** The upper 16 bits of the f32 x, with zeros below. */
Halide::Expr cut_to_bfloat16(const Halide::Expr &x);

/** Part `which` of three of the f32 x, which add up to it: numbers of bf16, as f32, the first with its upper eight digits, the second with
 * the next eight or so, rounded, and the third with what is left. The first two add up to what is a number of f16. Of Inf the first is that
 * and the others are NaN, of NaN one or more are. Digits below 2^-126 may count as 0, as tiles and instructions for bf16 have it. */
Halide::Expr part_of_float(const Halide::Expr &x, int which);

struct Products {
    using Add = std::function<Halide::Expr(const Halide::Expr &sum, const Halide::Expr &a, const Halide::Expr &b)>;
    using Term = std::function<Halide::Expr(int)>;

    bool pairs = false;  // operands are pairs of bf16, or of parts of f32 that are numbers of it
    Add add_pair;        // sum + a0 b0 + a1 b1 for two pairs of bf16, in f32, by an instruction of the machine
    int multiple = 1;    // what is packed comes in multiples of so many, with zeros past the last term
    Add add_single = {}; // sum + a b, if not as the compiler sees fit: in such an order, and so rounded, as it is written
    // With pairs: each number is the sum of so many of bf16, by part_of_float(): of f32 three, and a product of two is the sum of six of
    // the products of their parts; the three that are left out are some 2^-24 of it, 2^-22 at most (as bf16x3 in Henry, Tang and Heinecke,
    // "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", arXiv 1904.06376). Of f16 two, and all
    // four products. What is packed is packed for each.
    int parts = 1;

    /** Terms of a sum that are added at once. */
    int depth() const { return pairs ? 2 : 1; }
    /** Whether numbers are rounded to bf16 as they are packed. */
    bool rounds() const { return pairs && parts == 1; }
    /** Where an element of one part lies in a Func of operands: there, with the part as the last axis, if there are several. */
    std::vector<Halide::Expr> at(std::vector<Halide::Expr> place, const Halide::Expr &part) const {
        if (parts > 1) place.push_back(part);
        return place;
    }
    /** What operands are stored as. */
    Halide::Type type() const { return pairs ? Halide::Type(Halide::UInt(32)) : Halide::Type(Halide::Float(32)); }
    /** `count` terms, packed: how many. */
    Halide::Expr packed(const Halide::Expr &count) const {
        const int at_once = depth() * multiple;
        return (count + (at_once - 1)) / at_once * multiple;
    }
    /** term(0), or the pair of term(0) and term(1): numbers of bf16 as f32, of which only the upper 16 bits are kept. */
    Halide::Expr pack(const Term &term) const;
    /** Term `which` of what was packed, as f32. */
    Halide::Expr unpack(const Halide::Expr &packed, const Halide::Expr &which) const;
    /** The number whose parts were packed: term `which` of each. */
    Halide::Expr number(const Term &packed_part, const Halide::Expr &which) const;
    /** Products of f32, one at a time, added up as these are. */
    Products singles() const { return {false, {}, 1, add_single}; }
    /** sum + the products of the terms of a and b. */
    Halide::Expr add(const Halide::Expr &sum, const Halide::Expr &a, const Halide::Expr &b) const;
    /** The same of all parts that were packed. */
    Halide::Expr add_parts(const Halide::Expr &sum, const Term &a, const Term &b) const;
    /** The bits of the largest |term|, as i32: they order as the numbers do, with Inf and NaN on top. */
    Halide::Expr magnitude_bits(const Halide::Expr &packed) const;
};

} // namespace attune::dsl
