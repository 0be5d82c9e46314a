#include "error.h"

namespace attune::runtime {

namespace {

struct LastError {
    std::string sentence;
    const char *text = "";
};

LastError &last_error() {
    thread_local LastError error;
    return error;
}

} // namespace

attune_status report(const Status &status) noexcept {
    if (status.ok()) return ATTUNE_OK;
    try {
        LastError &error = last_error();
        error.sentence = status.message;
        error.text = error.sentence.c_str();
    } catch (...) {
        return report_fixed(ATTUNE_OUT_OF_MEMORY, "out of memory");
    }
    return status.code;
}

attune_status report_fixed(attune_status code, const char *sentence) noexcept {
    last_error().text = sentence;
    return code;
}

} // namespace attune::runtime

extern "C" const char *attune_error_message(void) { return attune::runtime::last_error().text; }
