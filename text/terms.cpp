#include "terms.h"

namespace attune::text {

namespace {

// clang-format off
constexpr TermRule rules[] = {
    {"causal", MaskKind::causal, 0, 0, {"", ""}, 0, true, "causal, causal(top_left) or causal(bottom_right)"},
    {"window", MaskKind::window, 2, 2, {"left", "right"}, -1, true, "window(left, right) or window(left, right, top_left|bottom_right)"},
    {"prefix", MaskKind::prefix, 1, 1, {"length", ""}, 0, false, "prefix(length)"},
    {"dilated", MaskKind::dilated, 1, 1, {"step", ""}, 1, true, "dilated(step) or dilated(step, top_left|bottom_right)"},
    {"strided", MaskKind::strided, 1, 2, {"step", "width"}, 1, false, "strided(step) or strided(step, width)"},
    {"blocks", MaskKind::blocks, 2, 2, {"queries", "keys"}, 1, false, "blocks(queries, keys)"},
    {"documents", MaskKind::documents, 0, 0, {"", ""}, 0, false, "documents"},
    {"lengths", MaskKind::lengths, 0, 0, {"", ""}, 0, false, "lengths"},
    {"tensor", MaskKind::tensor, 0, 0, {"", ""}, 0, false, "tensor"},
};
// clang-format on

} // namespace

const TermRule *find_term(std::string_view name) {
    for (const TermRule &rule : rules)
        if (name == rule.name) return &rule;
    return nullptr;
}

const TermRule *find_term(MaskKind kind) {
    for (const TermRule &rule : rules)
        if (kind == rule.kind) return &rule;
    return nullptr;
}

std::string known_terms() {
    std::string list = "none";
    for (const TermRule &rule : rules)
        list += std::string(", ") + rule.name;
    return list;
}

bool find_alignment(std::string_view name, Alignment &alignment) {
    if (name == "top_left") alignment = Alignment::top_left;
    if (name == "bottom_right") alignment = Alignment::bottom_right;
    return name == "top_left" || name == "bottom_right";
}

std::string known_alignments() { return "top_left, bottom_right"; }

} // namespace attune::text
