#include "dsl/word_powers.h"

#include <string>
#include <vector>

#include "dsl/numeric.h"

namespace attune::dsl {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

constexpr const char *marker = "attune.word_powers";

// Of a power 2^(n + f), with f in [0, 1), as bits of bf16: n + 127, and then seven bits of 2^f - 1. These are to be cut off a number with
// half of the last one added, so what is wanted is 2^f - 1 + 2^-8. With f less by -log2(1 - 2^-8), which WordExponent::of_zero makes up
// for, that is 0 at f = 0, hence f times a polynomial, without a last sum; and never 1, so that nothing is carried into the exponent.
// Below such a power of 2, by up to 2^-8 of it, numbers become that, as do those just above. The polynomial is the fit with the least
// error, 2^-12.57 of the power, of these very operations.
constexpr int linear = 45260, square = 15230, cube = 4771;
constexpr int mantissa = 7, fraction = 16;

class LowerWordPowers : public IRMutator {
    using IRMutator::visit;

    static Expr powers(const Expr &whole, const Expr &f) {
        const auto constant = [&](int value) { return make_const(f.type(), value); };
        const auto times_f = [&](const Expr &factor) { return mul_shift_right(f, factor, fraction); };
        const Expr above_1 = times_f(times_f(times_f(constant(cube)) + constant(square)) + constant(linear));
        return (whole << constant(mantissa)) | (above_1 >> constant(fraction - mantissa));
    }

    Expr visit(const Call *op) override {
        if (op->name != marker) return IRMutator::visit(op);
        const Halide::Type words = op->type, halves = Halide::UInt(16, 2 * words.lanes());
        const std::string name[] = {unique_name("first"), unique_name("second"), unique_name("fraction")};
        const Expr first = Variable::make(words, name[0]), second = Variable::make(words, name[1]), f = Variable::make(halves, name[2]);
        // By a mask that is constant, of 16-bit lanes: as an `or` of words LLVM makes each a vpermt2w, which is three operations on Intel.
        std::vector<Expr> is_lower;
        for (int i = 0; i < halves.lanes(); i++)
            is_lower.push_back(make_bool(i % 2 == 0));
        const auto beside = [&](const Expr &lower, const Expr &upper) {
            return Select::make(Shuffle::make_concat(is_lower), Reinterpret::make(halves, lower), Reinterpret::make(halves, upper));
        };
        const Expr half = make_const(words, 16), whole = beside(first >> half, second);
        Expr result = Reinterpret::make(words, powers(whole, f));
        result = Let::make(name[2], beside(first, second << half), result);
        result = Let::make(name[1], Reinterpret::make(words, mutate(op->args[1])), result);
        return Let::make(name[0], Reinterpret::make(words, mutate(op->args[0])), result);
    }
};

} // namespace

Expr WordExponent::clamped(const Expr &exponent) { return select(strict_less(exponent, lowest), lowest, exponent); }

Expr word_powers(const Expr &first, const Expr &second) { return Call::make(Halide::UInt(32), marker, {first, second}, Call::PureExtern); }

void lower_word_powers(Halide::Pipeline pipeline) { pipeline.add_custom_lowering_pass(new LowerWordPowers); }

} // namespace attune::dsl
