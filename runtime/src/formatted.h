// Texts with values in them. formatted.cpp alone compiles fmt's implementation, which would be nine tenths of every file's compile time
// and size.
#pragma once

#include <string>

#include <fmt/core.h>

namespace attune::runtime {

std::string format_values(fmt::string_view text, fmt::format_args values);

/** `text` with `values` in the places of its {}, as fmt::format has them. */
template <typename... Values> std::string formatted(fmt::format_string<Values...> text, Values &&...values) {
    return format_values(text, fmt::make_format_args(values...));
}

} // namespace attune::runtime
