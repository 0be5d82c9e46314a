#include "runtime/src/error.h"

#include <algorithm>

namespace attune::runtime {

namespace {

// Without a constructor or destructor: such a thread-local may be used while its thread, or the process, ends, and needs no memory, for
// want of which the C library would end the process. Names of kernels and texts of masks are in sentences as they are given, so that one
// may be longer, and is cut.
constexpr size_t longest_sentence = 4095;
thread_local char sentence[longest_sentence + 1];

void keep(std::string_view text) noexcept {
    const size_t length = std::min(text.size(), longest_sentence);
    std::copy_n(text.data(), length, sentence);
    sentence[length] = '\0';
}

} // namespace

attune_status report(const Status &status) noexcept {
    if (!status.ok()) keep(status.message);
    return status.code;
}

attune_status report_fixed(attune_status code, const char *text) noexcept {
    keep(text);
    return code;
}

} // namespace attune::runtime

extern "C" const char *attune_error_message(void) { return attune::runtime::sentence; }
