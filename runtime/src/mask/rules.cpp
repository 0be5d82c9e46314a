#include "runtime/src/mask/rules.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace attune::runtime {

namespace {

using text::Alignment;
using text::compiled_reach;
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

/** Whether no query is so far from a key that a compiled-in mask takes distances, or numbers, for others. */
bool is_near(int64_t queries, int64_t keys, int64_t offset) {
    return offset >= keys - compiled_reach && offset <= compiled_reach - queries;
}

/** The farthest that a window of the mask reaches. */
int64_t longest_reach(const PlanMask &mask, const int32_t *params) {
    int64_t reach = 0;
    for_each_number(mask.mask.root, [&](const MaskNode &term, const Number &number) {
        if (term.kind == MaskKind::window) reach = std::max(reach, value_of(number, params));
    });
    return reach;
}

/** The offsets that differ by a multiple of this are of one phase for every dilated term; 0 if there is no such number below 2^31. */
int64_t period_of_dilations(const PlanMask &mask, const int32_t *params) {
    int64_t period = 1;
    for_each_number(mask.mask.root, [&](const MaskNode &term, const Number &number) {
        const int64_t dilation = value_of(number, params);
        // What names an alignment doesn't move with the offset.
        if (term.kind != MaskKind::dilated || term.alignment != Alignment::unnamed || period == 0) return;
        const int64_t factor = dilation / std::gcd(period, dilation);
        period = factor <= INT32_MAX / period ? period * factor : 0;
    });
    return period;
}

/** The offset of the phase of `offset` that is nearest to it and, but for less than a period, within [low, high]. */
int64_t move_within(int64_t offset, int64_t low, int64_t high, int64_t period) {
    if (offset >= low && offset <= high) return offset;
    __extension__ using int128 = __int128;
    const int64_t bound = offset < low ? low : high;
    return bound + static_cast<int64_t>((static_cast<int128>(offset) - bound) % period);
}

bool is_made_of_intervals(const MaskNode &node) {
    if (node.operands.empty()) return is_interval_term(node.kind);
    return std::all_of(node.operands.begin(), node.operands.end(), is_made_of_intervals);
}

void add_operand(MaskNode &conjunction, const MaskNode &operand) {
    conjunction.kind = MaskKind::conjunction;
    conjunction.operands.push_back(operand);
}

void split(const MaskNode &node, PlanMask &mask) {
    if (node.kind == MaskKind::conjunction) {
        for (const MaskNode &operand : node.operands)
            split(operand, mask);
    } else if (node.kind == MaskKind::tensor) {
        mask.tensor = true;
    } else if (node.kind != MaskKind::none) {
        add_operand(is_made_of_intervals(node) ? mask.intervals : mask.rest, node);
    }
}

const MaskNode *find_without_intervals(const MaskNode &node) {
    if (node.operands.empty()) return node.kind == MaskKind::none || is_interval_term(node.kind) ? nullptr : &node;
    for (const MaskNode &operand : node.operands)
        if (const MaskNode *found = find_without_intervals(operand)) return found;
    return nullptr;
}

/** Calls visit(term) for each blocks term. */
template <typename Visit> void for_each_blocks(const MaskNode &node, const Visit &visit) {
    if (node.kind == MaskKind::blocks) visit(node);
    for (const MaskNode &operand : node.operands)
        for_each_blocks(operand, visit);
}

/** What an opaque mask makes of an offset isn't known, so it is passed as it is or not at all. */
Status narrow_opaque(int64_t queries, int64_t offset, int32_t &narrowed) {
    ATTUNE_REQUIRE(offset >= INT32_MIN && offset <= INT32_MAX - queries,
                   "offset is {}; it must be {} to {}, for this kernel's mask and N = {}", offset, INT32_MIN, INT32_MAX - queries, queries);
    narrowed = static_cast<int32_t>(offset);
    return {};
}

} // namespace

bool PlanMask::names(MaskKind kind) const { return text::names_term(mask.root, kind); }

const MaskNode *first_without_intervals(const PlanMask &mask) { return find_without_intervals(mask.rest); }

Status parse_run_time_mask(const char *text, PlanMask &mask) {
    if (!text) return {};
    text::ParseResult parsed = text::parse_mask(text);
    ATTUNE_REQUIRE(parsed.ok(), "mask, {}", parsed.error);
    mask.mask = std::move(parsed.mask);
    split(mask.mask.root, mask);
    return {};
}

Status parse_kernel_mask(const attune_kernel &kernel, PlanMask &mask) {
    text::ParseOptions options;
    options.allow_parameters = true;
    text::ParseResult parsed = text::parse_mask(kernel.mask, options);
    mask.opaque = !parsed.ok();
    if (mask.opaque) return {};
    mask.mask = std::move(parsed.mask);
    split(mask.mask.root, mask);
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

Status find_block_size(const PlanMask &first, const PlanMask &second, const int32_t *params, BlockSize &size) {
    Status status;
    bool found = false;
    const auto visit = [&](const MaskNode &term) {
        const BlockSize named = {value_of(term.numbers[0], params), value_of(term.numbers[1], params)};
        if (found && status.ok() && (named.queries != size.queries || named.keys != size.keys))
            status = fail(ATTUNE_INVALID_ARGUMENT,
                          "the mask names blocks({}, {}) and blocks({}, {}); there is one block map, so they must agree", size.queries,
                          size.keys, named.queries, named.keys);
        if (!found) size = named;
        found = true;
    };
    for_each_blocks(first.mask.root, visit);
    for_each_blocks(second.mask.root, visit);
    return status;
}

Status narrow_offset(const PlanMask &mask, const int32_t *params, int64_t queries, int64_t keys, int64_t offset, int32_t &narrowed) {
    if (mask.opaque) return narrow_opaque(queries, offset, narrowed);
    if (!is_near(queries, keys, offset)) {
        const int64_t reach = longest_reach(mask, params), period = period_of_dilations(mask, params);
        const int64_t bounded = std::min(reach, 2 * compiled_reach); // beyond which no offset is near
        const int64_t moved = period > 0 ? move_within(offset, -(queries + bounded), keys + bounded, period) : offset;
        if (!is_near(queries, keys, moved))
            return fail(ATTUNE_UNSUPPORTED,
                        "offset is {}; it must be {} to {}, with N = {}, M = {} and a compiled-in mask whose windows reach {} and whose "
                        "dilations have {} as their least common multiple",
                        offset, keys - compiled_reach, compiled_reach - queries, queries, keys, reach,
                        period > 0 ? std::to_string(period) : "no number below 2^31");
        offset = moved;
    }
    narrowed = static_cast<int32_t>(offset);
    return {};
}

} // namespace attune::runtime
