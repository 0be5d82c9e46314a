#include "dsl/linear.h"

#include "dsl/axes.h"
#include "dsl/numeric.h"
#include "dsl/prefetch.h"

namespace attune::dsl {

using namespace axes;
using Halide::Expr;
using Halide::Func;

namespace {

constexpr int columns = packed_weight::panel_columns, terms_per_block = packed_weight::terms_per_block;

class Declaration {
public:
    Declaration(const LinearInputs &inputs, const LinearBlocking &blocking) : in(inputs) {
        l.inputs = inputs, l.blocking = blocking;
        l.blocking.copies_weights = blocking.copies_weights && l.parts_of_word() == 2;
        l.operand = Func("operand"), l.terms = Func("terms"), l.fed = Func("fed"), l.dot = Func("dot"), l.sum = Func("sum");
        l.activated = Func("activated"), l.y = Func("y");
    }

    Linear declare() {
        operand();
        sums();
        activated();
        output();
        return l;
    }

private:
    const LinearInputs &in;
    Linear l;

    void operand() {
        const int rows = l.blocking.rows_per_tile, depth = l.blocking.products.depth();
        auto term = [&](const Expr &which_term) {
            Expr at = block * terms_per_block + which_term, at_row = min(tile * rows + row, in.rows - 1);
            // Past the last term nothing may be read. Sums take none of those of f32; of pairs the last may lack its second.
            const Expr x = as_float(in.x(min(likely(at), in.terms - 1), at_row));
            return l.pairs() ? select(likely(at < in.terms), x, 0.0f) : x;
        };
        const Products &products = l.blocking.products;
        l.taken = Halide::RDom(0, packed_weight::terms_per_group, 0, terms_per_block / depth / packed_weight::terms_per_group, "taken");
        l.taken.where(block * terms_per_block + l.taken.y * packed_weight::terms_per_group * depth < in.terms);
        const Expr at = l.taken.y * packed_weight::terms_per_group + l.taken.x;
        const Expr packed = products.pack([&](int i) { return term(at * depth + i); });
        l.operand(dim, row, tile, block) = Halide::undef(packed.type());
        l.operand(at, row, tile, block) = packed;
    }

    void sums() {
        const int parts = l.parts_of_word(), words = l.words_per_block();
        const int terms_per_word = l.pairs() ? 2 : 1;
        Expr all_words = divided_up(in.terms, terms_per_word);
        auto packed = [&](const Expr &at) { return in.weight(lane, at, which, clamp(panel, 0, in.panels - 1)); };
        auto part_of = [&](const Expr &packed_word) {
            if (parts == 1) return packed_word;
            return Halide::reinterpret<float>(select(part == 0, packed_word << 16, packed_word & Expr(uint32_t(0xffff0000))));
        };
        l.terms(lane, part, word, which, panel, block) = part_of(packed(min(block * words + word, all_words - 1)));

        const Expr now = l.terms(lane, part, word, which, panel, block), ahead = word + l.blocking.words_ahead;
        // A panel's weight and gate lie one after the other in memory, and then the next panel: what is read next, but for panels side by
        // side, past all of which that is.
        const Expr at = block * words + ahead, past_panel = which >= in.gated && at >= all_words;
        const Expr next_panel = clamp(panel, 0, in.panels - 1) + select(past_panel, l.blocking.panels_at_once - 1, 0);
        const Expr next =
            in.weight(lane, unsafe_promise_clamped(at, 0, all_words - 1), which, unsafe_promise_clamped(next_panel, 0, in.panels - 1));
        const Expr later = l.blocking.copies_weights ? l.terms(lane, part, min(ahead, words - 1), which, panel, block) : part_of(next);
        l.fed(lane, part, word, which, panel, block) =
            l.blocking.words_ahead > 0 ? with_prefetch(now, later, Halide::Internal::const_true(), l.blocking.nearness) : now;

        l.blocks = Halide::RDom(0, divided_up(all_words, words), "blocks");
        l.in_block = Halide::RDom(0, parts, 0, words, "in_block");
        l.in_block.where(l.in_block.y < all_words - block * words);
        Expr x = l.operand(l.in_block.y * parts + l.in_block.x, row, tile, block);
        Expr weight = l.fed(lane, l.in_block.x, l.in_block.y, which, panel, block);
        l.dot(lane, row, which, panel, tile, block) = 0.0f;
        l.dot(lane, row, which, panel, tile, block) = l.blocking.products.add(l.dot(lane, row, which, panel, tile, block), x, weight);
        l.sum(lane, row, which, panel, tile) = 0.0f;
        l.sum(lane, row, which, panel, tile) += l.dot(lane, row, which, panel, tile, l.blocks);
    }

    void activated() {
        Expr with_bias = l.sum(lane, row, 0, panel, tile) + in.bias(panel * columns + lane);
        l.activated(lane, row, panel, tile) = select(in.gated != 0, l.sum(lane, row, clamp(in.gated, 0, 1), panel, tile), with_bias);
        for (int i = activation_none + 1; i < activation_count; i++) {
            const Halide::RDom rows(0, select(in.activation == i, l.blocking.rows_per_tile, 0), "rows");
            l.activated(lane, rows, panel, tile) = activate(Activation(i), l.activated(lane, rows, panel, tile));
            l.activations.push_back(rows);
        }
    }

    void output() {
        const int rows = l.blocking.rows_per_tile;
        Expr at_lane = column % columns, at_panel = column / columns, at_row = row % rows, at_tile = row / rows;
        Expr value = l.activated(at_lane, at_row, at_panel, at_tile);
        Expr with_bias = l.sum(at_lane, at_row, 0, at_panel, at_tile) + in.bias(column);
        l.plain = in.gated == 0 && in.activation == int(activation_none);
        Expr result = select(l.plain, with_bias, in.gated != 0, value * with_bias, value);
        l.y(column, row) = as_type(in.type, result + as_float(in.residual(column, row)));
    }
};

} // namespace

int Linear::words_per_block() const { return packed_weight::terms_per_block / (pairs() ? 2 : 1); }

int Linear::parts_of_word() const { return pairs() && !blocking.products.pairs ? 2 : 1; }

Linear linear(const LinearInputs &inputs, const LinearBlocking &blocking) { return Declaration(inputs, blocking).declare(); }

} // namespace attune::dsl
