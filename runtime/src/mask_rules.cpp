#include "mask_rules.h"

#include <algorithm>

namespace attune::runtime {

namespace {

using text::MaskKind;
using text::MaskNode;
using text::Number;

/** Calls visit(term, number) for each number of each term. */
template <typename Visit> void for_each_number(const MaskNode &node, const Visit &visit) {
    for (const Number &number : node.numbers)
        visit(node, number);
    for (const MaskNode &operand : node.operands)
        for_each_number(operand, visit);
}

int64_t value_of(const Number &number, const int32_t *params) { return number.is_parameter() ? params[number.parameter] : number.value; }

/** The farthest that a window of the mask reaches. */
int64_t longest_reach(const PlanMask &mask, const int32_t *params) {
    int64_t reach = 0;
    for_each_number(mask.mask.root, [&](const MaskNode &term, const Number &number) {
        if (term.kind == MaskKind::window) reach = std::max(reach, value_of(number, params));
    });
    return reach;
}

/** What an opaque mask makes of an offset isn't known, so it is passed as it is or not at all. */
Status narrow_opaque(int64_t queries, int64_t offset, int32_t &narrowed) {
    ATTUNE_REQUIRE(offset >= INT32_MIN && offset <= INT32_MAX - queries,
                   "offset is {}; it must be {} to {}, for this kernel's mask and N = {}", offset, INT32_MIN, INT32_MAX - queries, queries);
    narrowed = static_cast<int32_t>(offset);
    return {};
}

} // namespace

Status parse_run_time_mask(const char *text, PlanMask &mask) {
    if (!text) return {};
    text::ParseResult parsed = text::parse_mask(text);
    ATTUNE_REQUIRE(parsed.ok(), "mask, {}", parsed.error);
    mask.mask = std::move(parsed.mask);
    return {};
}

Status parse_kernel_mask(const attune_kernel &kernel, PlanMask &mask) {
    text::ParseOptions options;
    options.allow_parameters = true;
    text::ParseResult parsed = text::parse_mask(kernel.mask, options);
    mask.opaque = !parsed.ok();
    if (mask.opaque) return {};
    mask.mask = std::move(parsed.mask);
    ATTUNE_REQUIRE(mask.mask.parameters.size() == static_cast<size_t>(kernel.param_count),
                   "kernel.param_count is {}; its mask \"{}\" has {} parameters", kernel.param_count, kernel.mask,
                   mask.mask.parameters.size());
    return {};
}

Status check_alignment(const PlanMask &mask, int64_t queries, int64_t keys, bool offset_given) {
    if (offset_given || queries == keys) return {};
    const MaskNode *term = text::first_unaligned(mask.mask.root);
    ATTUNE_REQUIRE(
        !term, "the mask's {} names no alignment, and N = {} differs from M = {}; name top_left or bottom_right in it, or give an offset",
        text::name_of(term->kind), queries, keys);
    return {};
}

Status check_parameters(const PlanMask &mask, const int32_t *params) {
    Status status;
    for_each_number(mask.mask.root, [&](const MaskNode &term, const Number &number) {
        const int64_t least = text::least_number(term.kind);
        if (!status.ok() || !number.is_parameter() || params[number.parameter] >= least) return;
        status =
            fail(ATTUNE_INVALID_ARGUMENT, "params[{}] is {}; {} of the mask's {} must be {} or more", number.parameter,
                 params[number.parameter], mask.mask.parameters[static_cast<size_t>(number.parameter)], text::name_of(term.kind), least);
    });
    return status;
}

Status narrow_offset(const PlanMask &mask, const int32_t *params, int64_t queries, int64_t keys, int64_t offset, int32_t &narrowed) {
    const int64_t reach = longest_reach(mask, params);
    ATTUNE_REQUIRE(reach <= INT32_MAX, "the compiled-in mask has a window of {}; it must be at most {}", reach, INT32_MAX);
    const int64_t near = std::clamp(offset, -(queries + reach), keys + reach);
    if (mask.opaque && near != offset) return narrow_opaque(queries, offset, narrowed);
    if (near + queries + reach > INT32_MAX || near - reach < INT32_MIN)
        return fail(ATTUNE_UNSUPPORTED,
                    "offset {} with N = {} and windows of {} passes 32 bits, which the compiled-in mask is worked out in", offset, queries,
                    reach);
    narrowed = static_cast<int32_t>(near);
    return {};
}

} // namespace attune::runtime
