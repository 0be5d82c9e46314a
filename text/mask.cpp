#include "mask.h"

#include <algorithm>

#include "terms.h"

namespace attune::text {

const char *name_of(MaskKind kind) {
    const TermRule *rule = find_term(kind);
    return rule ? rule->name : "";
}

int64_t least_number(MaskKind kind) {
    const TermRule *rule = find_term(kind);
    return rule ? rule->least : 0;
}

const MaskNode *first_unaligned(const MaskNode &node) {
    const TermRule *rule = find_term(node.kind);
    if (rule && rule->takes_alignment && node.alignment == Alignment::unnamed) return &node;
    for (const MaskNode &operand : node.operands)
        if (const MaskNode *found = first_unaligned(operand)) return found;
    return nullptr;
}

bool names_term(const MaskNode &node, MaskKind kind) {
    return node.kind == kind ||
           std::any_of(node.operands.begin(), node.operands.end(), [kind](const MaskNode &operand) { return names_term(operand, kind); });
}

} // namespace attune::text
