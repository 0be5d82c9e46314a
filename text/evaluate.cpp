#include "evaluate.h"

#include <algorithm>
#include <limits>

namespace attune::text {

namespace {

int64_t value_of(const Number &number, const MaskCell &cell) {
    return number.is_parameter() ? cell.parameters[number.parameter] : number.value;
}

/** a - b or a + b, held within 64 bits. */
int64_t saturated_sum(int64_t a, int64_t b) {
    int64_t sum = 0;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return b > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

int64_t floor_mod(int64_t a, int64_t positive) {
    const int64_t rest = a % positive;
    return rest < 0 ? rest + positive : rest;
}

/** The key position of query 0. */
int64_t first_position(const MaskNode &term, const MaskCell &cell) {
    if (term.alignment == Alignment::top_left) return 0;
    return term.alignment == Alignment::bottom_right ? cell.keys - cell.queries : cell.offset;
}

/** The key position of the query. */
int64_t position_of(const MaskNode &term, const MaskCell &cell) { return saturated_sum(cell.query, first_position(term, cell)); }

template <typename Allows> void fill(const MaskCell &cell, int64_t count, uint8_t *result, const Allows &allows) {
    for (int64_t i = 0; i < count; ++i)
        result[i] = allows(cell.key + i);
}

/** One comparison with the row's first and last key serves causal, window, prefix and lengths. */
void fill_between(const MaskCell &cell, int64_t first, int64_t last, int64_t count, uint8_t *result) {
    fill(cell, count, result, [=](int64_t key) { return first <= key && key <= last; });
}

void fill_window(const MaskNode &term, const MaskCell &cell, int64_t count, uint8_t *result) {
    constexpr int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
    const int64_t left = value_of(term.numbers[0], cell), right = value_of(term.numbers[1], cell), at = position_of(term, cell);
    fill_between(cell, left < 0 ? least : saturated_sum(at, -left), right < 0 ? most : saturated_sum(at, right), count, result);
}

void fill_dilated(const MaskNode &term, const MaskCell &cell, int64_t count, uint8_t *result) {
    const int64_t step = value_of(term.numbers[0], cell), to_query = floor_mod(cell.query, step);
    // Not of the position, which may be more than 64 bits hold.
    const int64_t rest = floor_mod(to_query - (step - floor_mod(first_position(term, cell), step)), step);
    fill(cell, count, result, [=](int64_t key) { return floor_mod(key, step) == rest; });
}

void fill_strided(const MaskNode &term, const MaskCell &cell, int64_t count, uint8_t *result) {
    const int64_t step = value_of(term.numbers[0], cell), width = term.numbers.size() > 1 ? value_of(term.numbers[1], cell) : 1;
    fill(cell, count, result, [=](int64_t key) { return floor_mod(key, step) < width; });
}

void fill_blocks(const MaskNode &term, const MaskCell &cell, int64_t count, uint8_t *result) {
    const int64_t row = cell.query / value_of(term.numbers[0], cell), width = value_of(term.numbers[1], cell);
    fill(cell, count, result, [&](int64_t key) { return cell.block(row, key / width); });
}

void fill_documents(const MaskCell &cell, int64_t count, uint8_t *result) {
    const int64_t own = cell.query_documents[cell.query];
    fill(cell, count, result, [&](int64_t key) { return cell.key_documents[key] == own; });
}

void fill_combined(const MaskNode &node, const MaskCell &cell, int64_t count, uint8_t *result) {
    allows(node.operands[0], cell, count, result);
    std::vector<uint8_t> next(static_cast<size_t>(count));
    for (size_t k = 1; k < node.operands.size(); ++k) {
        allows(node.operands[k], cell, count, next.data());
        for (int64_t i = 0; i < count; ++i)
            result[i] = node.kind == MaskKind::conjunction ? result[i] & next[i] : result[i] | next[i];
    }
}

} // namespace

bool allows(const MaskNode &node, const MaskCell &cell) {
    uint8_t result = 0;
    allows(node, cell, 1, &result);
    return result;
}

void allows(const MaskNode &node, const MaskCell &cell, int64_t count, uint8_t *result) {
    constexpr int64_t least = std::numeric_limits<int64_t>::min();
    switch (node.kind) {
    case MaskKind::none:
        return fill(cell, count, result, [](int64_t) { return true; });
    case MaskKind::causal:
        return fill_between(cell, least, position_of(node, cell), count, result);
    case MaskKind::window:
        return fill_window(node, cell, count, result);
    case MaskKind::prefix:
        return fill(cell, count, result, [end = value_of(node.numbers[0], cell)](int64_t key) { return key < end; });
    case MaskKind::dilated:
        return fill_dilated(node, cell, count, result);
    case MaskKind::strided:
        return fill_strided(node, cell, count, result);
    case MaskKind::blocks:
        return fill_blocks(node, cell, count, result);
    case MaskKind::documents:
        return fill_documents(cell, count, result);
    case MaskKind::lengths:
        return fill(cell, count, result, [end = cell.length](int64_t key) { return key < end; });
    case MaskKind::tensor:
        return fill(cell, count, result, [&](int64_t key) { return cell.tensor(cell.query, key); });
    case MaskKind::negation:
        allows(node.operands[0], cell, count, result);
        std::transform(result, result + count, result, [](uint8_t one) { return uint8_t(!one); });
        return;
    case MaskKind::conjunction:
    case MaskKind::disjunction:
        return fill_combined(node, cell, count, result);
    }
}

} // namespace attune::text
