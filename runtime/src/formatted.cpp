// Header-only here: programs that link Attune need no fmt library, and may have one of another version.
#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

#include "runtime/src/formatted.h"

namespace attune::runtime {

std::string format_values(fmt::string_view text, fmt::format_args values) { return fmt::vformat(text, values); }

} // namespace attune::runtime
