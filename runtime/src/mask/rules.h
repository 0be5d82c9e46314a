// The masks of a plan: given as text, compiled into its kernel, or both.
#pragma once

#include "runtime/src/mask/program.h"
#include "runtime/src/status.h"
#include "text/mask.h"

namespace attune::runtime {

/** A mask's tree, and the parts that must all hold. */
struct PlanMask {
    text::Mask mask;
    bool opaque = false;      // compiled in, maybe from C++ source: what it does can't be read
    text::MaskNode intervals; // what leaves each row a few intervals of keys
    text::MaskNode rest;      // what doesn't: dilated, strided, and `tensor` under | or !, with what stands beside them there
    bool tensor = false;      // `tensor` stands by itself among the parts

    /** Whether the mask names a term anywhere. */
    bool names(text::MaskKind kind) const;
};

/** Parses run-time text; nullptr is `none`. */
Status parse_run_time_mask(const char *text, PlanMask &mask);

/** The first term of `rest`, such as dilated, that leaves a row no few intervals; nullptr if there is none. */
const text::MaskNode *first_without_intervals(const PlanMask &mask);

/** Parses the text of a kernel of the caller's own. Without text, or where it isn't of the language, the kernel is opaque. */
Status parse_kernel_mask(const attune_kernel &kernel, PlanMask &mask);

/** An error if a term needs an alignment: none is named, no offset given, and N != M. */
Status check_alignment(const PlanMask &mask, int64_t queries, int64_t keys, bool offset_given);

/** An error if a compiled-in mask's parameter is below what its term takes. */
Status check_parameters(const PlanMask &mask, const int32_t *params);

/** The numbers of the blocks terms of both masks, an error unless all agree, for there is one block
 * map. */
Status find_block_size(const PlanMask &first, const PlanMask &second, const int32_t *params, BlockSize &size);

/** The offset in int32 as a kernel whose mask is compiled in takes it, such that no query is 2^30 or more from a key: that is as far as its
 * windows without a limit reach, and what numbers beyond count as. Offsets beyond all keys mean the same wherever they are, but for the
 * phase of dilated terms, so they are moved nearer; an error where even that is too far. */
Status narrow_offset(const PlanMask &mask, const int32_t *params, int64_t queries, int64_t keys, int64_t offset, int32_t &narrowed);

} // namespace attune::runtime
