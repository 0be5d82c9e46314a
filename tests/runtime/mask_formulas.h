// Random masks, and their meaning worked out key by key, for tests of what the runtime makes of them.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "text/mask.h"

namespace attune::runtime {

using text::MaskKind;

/** Kinds of terms that leave each row a few intervals of keys, whatever the data. */
inline const std::vector<MaskKind> plain_terms = {MaskKind::causal, MaskKind::window, MaskKind::prefix};
inline const std::vector<MaskKind> interval_terms = {MaskKind::causal,  MaskKind::window,    MaskKind::prefix,
                                                     MaskKind::lengths, MaskKind::documents, MaskKind::blocks};
inline constexpr int64_t block_queries = 2, block_keys = 3; // of every blocks term

/** A tree of up to `depth` operators inside one another. */
inline text::MaskNode random_mask(std::mt19937 &random, int depth, const std::vector<MaskKind> &terms = plain_terms) {
    const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
    text::MaskNode node;
    if (depth > 0 && pick(0, 3) > 0) {
        const MaskKind operators[] = {MaskKind::negation, MaskKind::conjunction, MaskKind::disjunction};
        node.kind = operators[pick(0, 2)];
        const int64_t count = node.kind == MaskKind::negation ? 1 : pick(2, 4);
        for (int64_t i = 0; i < count; ++i)
            node.operands.push_back(random_mask(random, depth - 1, terms));
        return node;
    }
    node.kind = terms[static_cast<size_t>(pick(0, static_cast<int64_t>(terms.size()) - 1))];
    if (node.kind == MaskKind::causal || node.kind == MaskKind::window || node.kind == MaskKind::dilated)
        node.alignment = static_cast<text::Alignment>(pick(0, 2));
    const int64_t huge = pick(0, 19) == 0 ? INT64_MAX - pick(0, 9) : 0;
    if (node.kind == MaskKind::window) node.numbers = {{pick(-1, 6)}, {huge ? huge : pick(-1, 6)}};
    if (node.kind == MaskKind::prefix) node.numbers = {{pick(0, 9)}};
    if (node.kind == MaskKind::dilated) node.numbers = {{pick(1, 4)}};
    if (node.kind == MaskKind::strided) node.numbers = {{pick(1, 4)}, {pick(1, 3)}};
    if (node.kind == MaskKind::blocks) node.numbers = {{block_queries}, {block_keys}};
    return node;
}

struct MaskPlace {
    int64_t queries, keys, offset;
    int64_t length = INT64_MAX;
    std::vector<int64_t> query_documents = {}, key_documents = {};
    std::function<bool(int64_t query_block, int64_t key_block)> block = {};
    std::function<bool(int64_t query, int64_t key)> tensor = {};
    std::vector<int64_t> params = {};
};

/** Whether query i may attend key j, straight from the definitions in attune.h's terms. */
inline bool attends(const text::MaskNode &node, const MaskPlace &place, int64_t i, int64_t j) {
    const long double offset = node.alignment == text::Alignment::top_left       ? 0
                               : node.alignment == text::Alignment::bottom_right ? place.keys - place.queries
                                                                                 : place.offset;
    // long double holds any int64, and sums of a few of them, exactly.
    const long double position = static_cast<long double>(i) + offset;
    const auto key = static_cast<long double>(j);
    const auto integer = [&](size_t n) {
        const text::Number &number = node.numbers[n];
        return number.is_parameter() ? place.params[static_cast<size_t>(number.parameter)] : number.value;
    };
    const auto number = [&](size_t n) { return static_cast<long double>(integer(n)); };
    bool all = true, any = false;
    for (const text::MaskNode &operand : node.operands) {
        const bool attended = attends(operand, place, i, j);
        all = all && attended, any = any || attended;
    }
    switch (node.kind) {
    case MaskKind::none:
        return true;
    case MaskKind::causal:
        return key <= position;
    case MaskKind::window:
        return (number(0) == -1 || key >= position - number(0)) && (number(1) == -1 || key <= position + number(1));
    case MaskKind::prefix:
        return key < number(0);
    case MaskKind::dilated:
        return std::fmod(position - key, number(0)) == 0;
    case MaskKind::strided:
        return j % integer(0) < (node.numbers.size() > 1 ? integer(1) : 1);
    case MaskKind::blocks:
        return place.block(i / integer(0), j / integer(1));
    case MaskKind::documents:
        return place.query_documents[static_cast<size_t>(i)] == place.key_documents[static_cast<size_t>(j)];
    case MaskKind::lengths:
        return j < place.length;
    case MaskKind::tensor:
        return place.tensor(i, j);
    case MaskKind::negation:
        return !any;
    case MaskKind::conjunction:
        return all;
    case MaskKind::disjunction:
        return any;
    }
    return false;
}

} // namespace attune::runtime
