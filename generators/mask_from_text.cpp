#include "generators/mask_from_text.h"

#include <algorithm>

#include "text/mask.h"

namespace attune::generators {

using Halide::Expr;

namespace {

// What a position can be off by without wrapping 32 bits; further out it means the same.
constexpr int64_t far_away = int64_t(1) << 30;

struct Context {
    Expr queries, keys;
    Halide::Func offsets, params;
};

Expr number(const text::Number &n, const Context &context) {
    if (n.is_parameter()) return clamp(context.params(n.parameter), Expr(int32_t(-far_away)), Expr(int32_t(far_away)));
    return Expr(int32_t(std::clamp(n.value, -far_away, far_away)));
}

Expr offset(const text::MaskNode &node, const Context &context, const dsl::Cell &cell) {
    if (node.alignment == text::Alignment::top_left) return 0;
    if (node.alignment == text::Alignment::bottom_right) return context.keys - context.queries;
    return context.offsets(cell.batch);
}

dsl::Mask mask_of(const text::MaskNode &node, const Context &context) {
    auto of_cell = [node, context](auto make) {
        return dsl::Mask([=](const dsl::Cell &cell) { return make(offset(node, context, cell)).allows(cell); });
    };
    switch (node.kind) {
    case text::MaskKind::none:
        return dsl::Mask([](const dsl::Cell &) { return Halide::Internal::const_true(); });
    case text::MaskKind::causal:
        return of_cell([](const Expr &at) { return dsl::causal(at); });
    case text::MaskKind::window: {
        Expr left = number(node.numbers[0], context), right = number(node.numbers[1], context);
        return of_cell([=](const Expr &at) { return dsl::window(left, right, at); });
    }
    case text::MaskKind::prefix:
        return dsl::prefix(number(node.numbers[0], context));
    case text::MaskKind::negation:
        return !mask_of(node.operands[0], context);
    default:
        break;
    }
    dsl::Mask combined = mask_of(node.operands[0], context);
    for (size_t i = 1; i < node.operands.size(); i++) {
        const dsl::Mask next = mask_of(node.operands[i], context);
        combined = node.kind == text::MaskKind::conjunction ? combined & next : combined | next;
    }
    return combined;
}

} // namespace

std::optional<dsl::Mask> mask_from_text(const std::string &text, const Expr &queries, const Expr &keys, const Halide::Func &offsets,
                                        const Halide::Func &params) {
    if (text.empty()) return std::nullopt;
    text::ParseOptions options;
    options.allow_parameters = true;
    const text::ParseResult parsed = text::parse_mask(text, options);
    if (!parsed.ok()) {
        const std::string sentence = "attune: mask \"" + text + "\": " + parsed.error;
        throw Halide::CompileError(sentence.c_str());
    }
    if (parsed.mask.root.kind == text::MaskKind::none) return std::nullopt;
    return mask_of(parsed.mask.root, {queries, keys, offsets, params});
}

} // namespace attune::generators
