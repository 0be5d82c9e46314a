// The masks of a plan: given as text, compiled into its kernel, or both.
#pragma once

#include "mask_program.h"
#include "status.h"
#include "text/mask.h"

namespace attune::runtime {

/** A mask's tree, and whose it is, for messages. */
struct PlanMask {
    text::Mask mask;
    bool opaque = false; // compiled in, maybe from C++ source: what it does can't be read
};

/** Parses run-time text; nullptr is `none`. */
Status parse_run_time_mask(const char *text, PlanMask &mask);

/** Parses the text of a kernel of the caller's own. Without text, or where it isn't of the language, the kernel is opaque. */
Status parse_kernel_mask(const attune_kernel &kernel, PlanMask &mask);

/** An error if a term needs an alignment: none is named, no offset given, and N != M. */
Status check_alignment(const PlanMask &mask, int64_t queries, int64_t keys, bool offset_given);

/** An error if a compiled-in mask's parameter is below what its term takes. */
Status check_parameters(const PlanMask &mask, const int32_t *params);

/** The offset in int32 as a kernel whose mask is compiled in takes it, such that i + offset + any limit of the mask stays within int32 for
 * all N rows. Offsets beyond all keys mean the same wherever they are, so they are moved nearer; an error where even that is too far. */
Status narrow_offset(const PlanMask &mask, const int32_t *params, int64_t queries, int64_t keys, int64_t offset, int32_t &narrowed);

} // namespace attune::runtime
