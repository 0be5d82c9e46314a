#include "bench/mask_rows.h"

#include <algorithm>

namespace attune::bench {
namespace {

/** Far past any extent, and far from overflow when added to one. */
constexpr int64_t unlimited = int64_t{1} << 40;

std::vector<Interval> intersection(const std::vector<Interval> &a, const std::vector<Interval> &b) {
    std::vector<Interval> both;
    for (const Interval &x : a)
        for (const Interval &y : b) {
            const Interval z{std::max(x.begin, y.begin), std::min(x.end, y.end)};
            if (z.begin < z.end) both.push_back(z);
        }
    return both; // sorted and disjoint as a and b are
}

/** A window's reach to one side; -1 means no limit. */
int64_t reach(int64_t number) { return number == -1 ? unlimited : std::min(number, unlimited); }

} // namespace

MaskRows::MaskRows(const Case &c) : case_(c), mask_(text::parse_mask(c.mask).mask), queries_(c.queries), keys_(c.keys) {}

std::vector<Interval> MaskRows::keys(int64_t i) const {
    Intervals rows = of(mask_.root, i);
    if (case_.key_length > 0) rows = intersection(rows, {{0, case_.key_length}});
    if (!case_.tensor) return rows;
    Intervals cells;
    for (const Interval &keys : rows)
        for (int64_t j = keys.begin; j < keys.end; ++j)
            if (tensor_allows(i, j)) cells.push_back({j, j + 1});
    return cells;
}

MaskRows::Intervals MaskRows::of(const text::MaskNode &node, int64_t i) const {
    switch (node.kind) {
    case text::MaskKind::negation:
        return complement(of(node.operands[0], i));
    case text::MaskKind::conjunction: {
        Intervals all{{0, keys_}};
        for (const text::MaskNode &operand : node.operands)
            all = intersection(all, of(operand, i));
        return all;
    }
    case text::MaskKind::disjunction: { // a | b = !(!a & !b)
        Intervals none{{0, keys_}};
        for (const text::MaskNode &operand : node.operands)
            none = intersection(none, complement(of(operand, i)));
        return complement(none);
    }
    default:
        return intersection({{0, keys_}}, term(node, i));
    }
}

MaskRows::Intervals MaskRows::term(const text::MaskNode &node, int64_t i) const {
    const int64_t position = i + (node.alignment == text::Alignment::bottom_right ? keys_ - queries_ : 0);
    switch (node.kind) {
    case text::MaskKind::causal:
        return {{0, position + 1}};
    case text::MaskKind::window:
        return {{position - reach(node.numbers[0].value), position + reach(node.numbers[1].value) + 1}};
    case text::MaskKind::prefix:
        return {{0, node.numbers[0].value}};
    case text::MaskKind::documents: {
        const int64_t length = (keys_ + case_.documents - 1) / case_.documents;
        return {{i / length * length, (i / length + 1) * length}};
    }
    default:
        return {{0, keys_}};
    }
}

MaskRows::Intervals MaskRows::complement(const Intervals &from) const {
    Intervals rest;
    int64_t begin = 0;
    for (const Interval &keys : from) {
        if (begin < keys.begin) rest.push_back({begin, keys.begin});
        begin = keys.end;
    }
    if (begin < keys_) rest.push_back({begin, keys_});
    return rest;
}

} // namespace attune::bench
