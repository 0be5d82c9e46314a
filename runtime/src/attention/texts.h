// The texts of a plan: parsed, told apart from what its kernel has compiled in, and refused where no kernel takes them at run time.
#pragma once

#include <cstring>

#include "runtime/src/attention/plan.h"

namespace attune::runtime {

/** Whether a text asks for anything. */
inline bool is_given(const char *text) { return text && std::strcmp(text, "none") != 0; }

/** Parses the mask, score and position of `desc`, and those of the plan's kernel if it is the caller's own. */
Status take_texts(const attune_attention_desc &desc, attune_attention_plan &plan);

} // namespace attune::runtime
