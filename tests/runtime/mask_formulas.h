// Random masks, and their meaning worked out key by key, for tests of what the runtime makes of them.
#pragma once

#include <cstdint>
#include <random>

#include "text/mask.h"

namespace attune::runtime {

/** A tree of up to `depth` operators inside one another. */
inline text::MaskNode random_mask(std::mt19937 &random, int depth) {
    const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
    text::MaskNode node;
    const bool leaf = depth == 0 || pick(0, 3) == 0;
    node.kind = static_cast<text::MaskKind>(leaf ? pick(1, 3) : pick(4, 6));
    if (!leaf) {
        const int64_t count = node.kind == text::MaskKind::negation ? 1 : pick(2, 4);
        for (int64_t i = 0; i < count; ++i)
            node.operands.push_back(random_mask(random, depth - 1));
        return node;
    }
    if (node.kind != text::MaskKind::prefix) node.alignment = static_cast<text::Alignment>(pick(0, 2));
    const int64_t huge = pick(0, 19) == 0 ? INT64_MAX - pick(0, 9) : 0;
    if (node.kind == text::MaskKind::window) node.numbers = {{pick(-1, 6)}, {huge ? huge : pick(-1, 6)}};
    if (node.kind == text::MaskKind::prefix) node.numbers = {{pick(0, 9)}};
    return node;
}

struct MaskPlace {
    int64_t queries, keys, offset;
};

/** Whether query i may attend key j, straight from the definitions in attune.h's terms. */
inline bool attends(const text::MaskNode &node, const MaskPlace &place, int64_t i, int64_t j) {
    const long double offset = node.alignment == text::Alignment::top_left       ? 0
                               : node.alignment == text::Alignment::bottom_right ? place.keys - place.queries
                                                                                 : place.offset;
    // long double holds any int64, and sums of a few of them, exactly.
    const long double position = static_cast<long double>(i) + offset;
    const auto key = static_cast<long double>(j);
    const auto number = [&](size_t n) { return static_cast<long double>(node.numbers[n].value); };
    bool all = true, any = false;
    for (const text::MaskNode &operand : node.operands) {
        const bool attended = attends(operand, place, i, j);
        all = all && attended, any = any || attended;
    }
    switch (node.kind) {
    case text::MaskKind::none:
        return true;
    case text::MaskKind::causal:
        return key <= position;
    case text::MaskKind::window:
        return (number(0) == -1 || key >= position - number(0)) && (number(1) == -1 || key <= position + number(1));
    case text::MaskKind::prefix:
        return key < number(0);
    case text::MaskKind::negation:
        return !any;
    case text::MaskKind::conjunction:
        return all;
    case text::MaskKind::disjunction:
        return any;
    }
    return false;
}

} // namespace attune::runtime
