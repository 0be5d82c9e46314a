#include "dsl/decode/value_passes.h"

#include <algorithm>

#include "dsl/decode/parts.h"
#include "dsl/numeric.h"

namespace attune::dsl {

using Halide::Expr;

namespace {

// Of `most` vectors, which are a line or part of one, and then of half, and a quarter, of what is left.
std::vector<ValuePasses> passes_of_a_line(const Expr &whole, int most, int depth) {
    std::vector<ValuePasses> passes;
    Expr left = whole;
    for (int at_once = most; at_once >= depth && may_be_some(left); at_once /= 2) {
        passes.push_back({at_once, whole - left, left / at_once});
        left = left % at_once;
    }
    return passes;
}

std::vector<ValuePasses> equal_passes(const Expr &whole, const Expr &has_rest, int most, int vectors_per_line, int depth) {
    const int line = std::max(vectors_per_line, depth);
    const Expr before_last = max(divided_up(whole, most), 1) - 1;
    const Expr lines = divided_up(divided_up(whole, before_last + 1), line);
    const Expr first_of_last = lines * line * before_last, last = whole - first_of_last;
    const Expr rest_joins = has_rest && whole < most;
    std::vector<ValuePasses> passes;
    auto add = [&](int at_once, const Expr &first, const Expr &count, bool take_rest) {
        if (may_be_some(count)) passes.push_back({at_once, first, count, take_rest});
    };
    for (int at_once = most; at_once > 0; at_once -= depth) {
        const Expr are_of_whole_lines = lines * line == at_once;
        const Expr count = select(are_of_whole_lines, before_last, 0) + select(last == at_once && !rest_joins, 1, 0);
        add(at_once, select(are_of_whole_lines, 0, first_of_last), count, false);
        if (at_once > 1) add(at_once, 0, select(whole + 1 == at_once && has_rest, 1, 0), true);
    }
    add(1, whole, select(has_rest && (whole == 0 || whole >= most), 1, 0), true);
    return passes;
}

} // namespace

bool are_equal_passes(int most, int vectors_per_line) { return most > vectors_per_line; }

std::vector<ValuePasses> value_passes(const Expr &whole, int most, int vectors_per_line, int depth, const Expr &has_rest) {
    if (are_equal_passes(most, vectors_per_line)) return equal_passes(whole, has_rest, most, vectors_per_line, depth);
    return passes_of_a_line(whole, most, depth);
}

} // namespace attune::dsl
