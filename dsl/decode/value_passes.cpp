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

} // namespace

std::vector<ValuePasses> value_passes(const Expr &whole, int most, int vectors_per_line, int depth) {
    if (most <= vectors_per_line) return passes_of_a_line(whole, most, depth);
    const int line = std::max(vectors_per_line, depth);
    const Expr before_last = max(divided_up(whole, most), 1) - 1;
    const Expr lines = divided_up(divided_up(whole, before_last + 1), line), last = whole - lines * line * before_last;
    std::vector<ValuePasses> passes;
    for (int at_once = most; at_once > 0; at_once -= depth) {
        const Expr is_of_whole_lines = lines * line == at_once;
        const Expr count = select(is_of_whole_lines, before_last, 0) + select(last == at_once, 1, 0);
        if (!may_be_some(count)) continue;
        passes.push_back({at_once, select(is_of_whole_lines, 0, lines * before_last) * line, count});
    }
    return passes;
}

} // namespace attune::dsl
