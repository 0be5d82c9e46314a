// The border of the C interface: what is returned, and the calling thread's message.
#pragma once

#include <cstring>
#include <new>

#include "runtime/src/status.h"

namespace attune::runtime {

/** Keeps a failed status' sentence for attune_error_message, and returns its code. */
attune_status report(const Status &status) noexcept;

/** Keeps a sentence that needs no memory. */
attune_status report_fixed(attune_status code, const char *text) noexcept;

/** Runs `body`, which returns a Status; no exception leaves. */
template <typename Body> attune_status guarded(Body &&body) noexcept {
    try {
        return report(body());
    } catch (const std::bad_alloc &) {
        return report_fixed(ATTUNE_OUT_OF_MEMORY, "out of memory");
    } catch (...) {
        return report_fixed(ATTUNE_INTERNAL, "an unexpected exception was thrown inside Attune");
    }
}

/** The number in an enum that a C caller filled in: C++ may take it for granted that it is one of the names. */
template <typename Enum> int raw_value(const Enum &value) {
    static_assert(sizeof(Enum) == sizeof(int), "C's enums are ints");
    int raw = 0;
    std::memcpy(&raw, &value, sizeof(raw));
    return raw;
}

/** Makes a struct of the interface what it begins as: zeros, and its size. False of NULL. */
template <typename Struct> bool reset(Struct *given) {
    if (!given) return false;
    *given = {};
    given->struct_size = sizeof(*given);
    return true;
}

/** Checks a struct the caller hands over: there at all, and of the size this library was built with. */
template <typename Struct> Status check_struct(const Struct *given, const char *name, const char *remedy) {
    ATTUNE_REQUIRE(given != nullptr, "{} is NULL", name);
    ATTUNE_REQUIRE(given->struct_size == sizeof(Struct), "{}.struct_size is {}; it must be {}: initialise with {}", name,
                   given->struct_size, sizeof(Struct), remedy);
    return {};
}

} // namespace attune::runtime
