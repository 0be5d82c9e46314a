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

MaskRows::MaskRows(const std::string &mask, int64_t queries, int64_t keys)
    : mask_(text::parse_mask(mask).mask), queries_(queries), keys_(keys) {}

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
