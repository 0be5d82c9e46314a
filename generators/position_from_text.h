// The textual position language, compiled into a kernel.
#pragma once

#include <optional>
#include <string>

#include "dsl/attention/attention.h"

namespace attune::generators {

/** How the text gives q and k their positions; none for "none" or "". What depends on frequencies is in the kernel's tables. Throws
 * Halide::CompileError with a sentence that gives the column on a bad text. */
std::optional<dsl::Positioning> positioning_from_text(const std::string &text);

} // namespace attune::generators
