#include "dsl/words.h"

#include <vector>

namespace attune::dsl {

using namespace Halide::Internal;
using Halide::Expr;

namespace {

constexpr const char *words_marker = "attune.words", *pairs_marker = "attune.pairs_of_words", *upper_marker = "attune.upper_half_of";
constexpr int lanes_of_two_registers = 32;
constexpr int pairs_per_group = PairedElement::in_order, elements_per_group = 2 * pairs_per_group;

// What upper_half_of() marks in a vector of 16-bit numbers, or nullptr.
const Call *upper_halves(const Expr &numbers) {
    const Reinterpret *result = numbers.as<Reinterpret>();
    const Call *half = (result ? result->value : numbers).as<Call>();
    return half && half->name == upper_marker && half->type.lanes() == numbers.type().lanes() ? half : nullptr;
}

class LowerWords : public IRMutator {
    using IRMutator::visit;

    // Upper halves of two vectors of words, one of the first beside one of the second, are words as they are but for a shift or a mask.
    Expr beside(const Halide::Type &type, const Expr &first, const Expr &second) {
        return Reinterpret::make(type, (mutate(first) >> 16) | (mutate(second) & Expr(uint32_t(0xffff0000))));
    }

    Expr visit(const Shuffle *op) override {
        if (!op->is_interleave() || op->vectors.size() != 2) return IRMutator::visit(op);
        const Call *first = upper_halves(op->vectors[0]), *second = upper_halves(op->vectors[1]);
        return first && second ? beside(op->type, first->args[0], second->args[0]) : IRMutator::visit(op);
    }

    static Expr paired(const Call *op, const Expr &first, const Expr &second, int half) {
        const int elements = 2 * op->type.lanes();
        std::vector<int> indices;
        for (int group = 0; group < elements; group += elements_per_group)
            for (int i = group + half * pairs_per_group; i < group + (half + 1) * pairs_per_group; i++)
                indices.insert(indices.end(), {i, elements + i});
        return Reinterpret::make(op->type, Shuffle::make({first, second}, indices));
    }

    static Expr upper_half(const Halide::Type &type, const Expr &words) {
        const int lanes = type.lanes();
        if (lanes % lanes_of_two_registers != 0) return Cast::make(type, words >> 16);
        return Shuffle::make_slice(Reinterpret::make(type.with_lanes(2 * lanes), words), 1, 2, lanes);
    }

    Expr visit(const Call *op) override {
        if (op->name == upper_marker) return upper_half(op->type, mutate(op->args[0]));
        if (op->name == pairs_marker) {
            if (op->type.lanes() % pairs_per_group != 0)
                throw Halide::CompileError("attune: pairs of words are asked for of what isn't a vector of some groups of four");
            const Halide::Type halves = Halide::UInt(16, 2 * op->type.lanes());
            const Expr first = Reinterpret::make(halves, mutate(op->args[0])), second = Reinterpret::make(halves, mutate(op->args[1]));
            const Expr half = mutate(op->args[2]);
            if (is_const_zero(half)) return paired(op, first, second, 0);
            if (is_const_one(half)) return paired(op, first, second, 1);
            return select(half == 0, paired(op, first, second, 0), paired(op, first, second, 1));
        }
        if (op->name != words_marker) return IRMutator::visit(op);
        const Load *load = op->args[0].as<Load>();
        const Ramp *ramp = load ? load->index.as<Ramp>() : nullptr;
        if (!ramp || !is_const_one(ramp->stride) || load->type.bits() != 16)
            throw Halide::CompileError("attune: words are asked for of what isn't a vector of 16-bit elements side by side");
        const int lanes = 2 * load->type.lanes();
        const Expr elements = Load::make(load->type.with_lanes(lanes), load->name, Ramp::make(mutate(ramp->base), ramp->stride, lanes),
                                         load->image, load->param, const_true(lanes), ModulusRemainder());
        return Reinterpret::make(op->type, elements);
    }
};

} // namespace

Expr words_from(const Expr &first) { return Call::make(Halide::UInt(32), words_marker, {first}, Call::PureExtern); }

const Expr *words_source(const Expr &words) {
    const Call *op = words.as<Call>();
    return op && op->name == words_marker ? &op->args[0] : nullptr;
}

Expr pairs_of_words(const Expr &first, const Expr &second, const Expr &half) {
    return Call::make(Halide::UInt(32), pairs_marker, {first, second, half}, Call::PureExtern);
}

Expr upper_half_of(const Expr &word) { return Call::make(Halide::UInt(16), upper_marker, {word}, Call::PureExtern); }

PairedElement::PairedElement(const Expr &element, int lanes)
    : vector(element / (2 * lanes) * 2 + element / pairs_per_group % 2),
      lane(element % (2 * lanes) / elements_per_group * pairs_per_group + element % pairs_per_group) {}

Expr bfloat16_of_words(const Expr &words, const Expr &half) {
    return Halide::reinterpret<float>(select(half == 0, words << 16, words & Expr(uint32_t(0xffff0000))));
}

SplitElement::SplitElement(const Expr &element, int lanes)
    : vector(element / (2 * lanes) * 2 + element % 2), lane(element % (2 * lanes) / 2) {}

Expr split_element(const Expr &vector, const Expr &lane, int lanes) { return vector / 2 * (2 * lanes) + 2 * lane + vector % 2; }

void lower_words(Halide::Pipeline pipeline) { pipeline.add_custom_lowering_pass(new LowerWords); }

} // namespace attune::dsl
