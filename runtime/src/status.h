// Errors inside the runtime: a code and one sentence, as a value.
#pragma once

#include <string>
#include <utility>

#include "attune/attune.h"
#include "runtime/src/formatted.h"

namespace attune::runtime {

struct [[nodiscard]] Status {
    attune_status code = ATTUNE_OK;
    std::string message;

    bool ok() const { return code == ATTUNE_OK; }
};

/** An error whose sentence is `format` filled in: subject, value, limit. */
template <typename... Values> Status fail(attune_status code, fmt::format_string<Values...> format, Values &&...values) {
    return {code, formatted(format, std::forward<Values>(values)...)};
}

} // namespace attune::runtime

/** Returns the error of `expression`, a Status, from the calling function, if it is one. */
#define ATTUNE_TRY(expression)                                                                                                             \
    do {                                                                                                                                   \
        if (::attune::runtime::Status attune_try_status = (expression); !attune_try_status.ok()) return attune_try_status;                 \
    } while (false)

/** Returns ATTUNE_INVALID_ARGUMENT with the sentence that follows, unless `condition` holds. */
#define ATTUNE_REQUIRE(condition, ...)                                                                                                     \
    do {                                                                                                                                   \
        if (!(condition)) return ::attune::runtime::fail(ATTUNE_INVALID_ARGUMENT, __VA_ARGS__);                                            \
    } while (false)
