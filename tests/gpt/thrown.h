// The sentence of an Error.
#pragma once

#include <string>

#include "gpt/error.h"

namespace gpt {

/** What `call` throws, or "nothing was thrown". */
template <typename Call> std::string thrown(const Call &call) {
    try {
        call();
    } catch (const Error &error) {
        return error.what();
    }
    return "nothing was thrown";
}

} // namespace gpt
