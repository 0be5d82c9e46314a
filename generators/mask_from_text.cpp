#include "generators/mask_from_text.h"

#include <algorithm>

#include "generators/text_parameters.h"

namespace attune::generators {

using Halide::Expr;

namespace {

using text::compiled_reach;

struct Context {
    Expr queries, keys;
    MaskData data;
};

Expr number(const text::Number &n, const Context &context) {
    if (n.is_parameter()) return clamp(context.data.params(n.parameter), Expr(int32_t(-compiled_reach)), Expr(int32_t(compiled_reach)));
    return Expr(int32_t(std::clamp(n.value, -compiled_reach, compiled_reach)));
}

Expr offset(const text::MaskNode &node, const Context &context, const dsl::Cell &cell) {
    if (node.alignment == text::Alignment::top_left) return 0;
    if (node.alignment == text::Alignment::bottom_right) return context.keys - context.queries;
    return context.data.offsets(cell.batch);
}

/** The mask of a term that stands relative to the query's position: make(offset). */
template <typename Make> dsl::Mask aligned(const text::MaskNode &node, const Context &context, const Make &make) {
    return dsl::Mask([=](const dsl::Cell &cell) { return make(offset(node, context, cell)).allows(cell); });
}

dsl::Mask term_of(const text::MaskNode &node, const Context &context) {
    std::vector<Expr> numbers;
    for (const text::Number &n : node.numbers)
        numbers.push_back(number(n, context));
    const MaskData &data = context.data;
    switch (node.kind) {
    case text::MaskKind::causal:
        return aligned(node, context, [](const Expr &at) { return dsl::causal(at); });
    case text::MaskKind::window:
        return aligned(node, context, [=](const Expr &at) { return dsl::window(numbers[0], numbers[1], at); });
    case text::MaskKind::prefix:
        return dsl::prefix(numbers[0]);
    case text::MaskKind::dilated:
        return aligned(node, context, [=](const Expr &at) { return dsl::dilated(numbers[0], at); });
    case text::MaskKind::strided:
        return dsl::strided(numbers[0], numbers.size() > 1 ? numbers[1] : Expr(1));
    case text::MaskKind::blocks:
        return dsl::blocks(data.block_map, numbers[0], numbers[1]);
    case text::MaskKind::documents:
        if (data.document_ranges.defined()) return dsl::documents(data.query_documents, data.key_documents, data.document_ranges);
        return dsl::documents(data.query_documents, data.key_documents);
    case text::MaskKind::lengths:
        return dsl::key_lengths(data.lengths);
    case text::MaskKind::tensor:
        return dsl::boolean_tensor(data.attend);
    default:
        return dsl::Mask([](const dsl::Cell &) { return Halide::Internal::const_true(); }); // none
    }
}

dsl::Mask mask_of(const text::MaskNode &node, const Context &context) {
    if (node.operands.empty()) return term_of(node, context);
    if (node.kind == text::MaskKind::negation) return !mask_of(node.operands[0], context);
    dsl::Mask combined = mask_of(node.operands[0], context);
    for (size_t i = 1; i < node.operands.size(); i++) {
        const dsl::Mask next = mask_of(node.operands[i], context);
        combined = node.kind == text::MaskKind::conjunction ? combined & next : combined | next;
    }
    return combined;
}

} // namespace

std::optional<dsl::Mask> mask_from_text(const std::string &text, const Expr &queries, const Expr &keys, const MaskData &data) {
    if (text.empty()) return std::nullopt;
    const text::Mask mask = mask_parameter(text);
    if (mask.root.kind == text::MaskKind::none) return std::nullopt;
    return mask_of(mask.root, {queries, keys, data});
}

} // namespace attune::generators
