// Errors of this example: one sentence, thrown, and printed by main.
#pragma once

#include <stdexcept>
#include <utility>

#include <attune/attune.hpp>
#include <fmt/format.h>

namespace gpt {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/** Throws the sentence: subject, value, limit. */
template <typename... Values> [[noreturn]] void fail(fmt::format_string<Values...> format, Values &&...values) {
    throw Error(fmt::format(format, std::forward<Values>(values)...));
}

/** Throws the sentence unless `condition` holds. */
template <typename... Values> void require(bool condition, fmt::format_string<Values...> format, Values &&...values) {
    if (!condition) fail(format, std::forward<Values>(values)...);
}

/** Throws the message of a call that failed. */
inline void require(const attune::Status &status) {
    if (!status) throw Error(status.message);
}

} // namespace gpt
