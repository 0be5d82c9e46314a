#include "terms.h"

namespace attune::text {

namespace {

constexpr TermRule rules[] = {
    {"causal", MaskKind::causal, 0, {"", ""}, 0, true, "causal, causal(top_left) or causal(bottom_right)"},
    {"window", MaskKind::window, 2, {"left", "right"}, -1, true, "window(left, right) or window(left, right, top_left|bottom_right)"},
    {"prefix", MaskKind::prefix, 1, {"length", ""}, 0, false, "prefix(length)"},
};

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

} // namespace attune::text
