// What the entry points of the emulated driver share: the device, contexts, modules, and how errors leave.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "../error.h"
#include "../run/decode.h"
#include "../run/memory.h"

#define DRIVER_API extern "C" __attribute__((visibility("default"))) int

namespace attune::emulator {

using DevicePointer = unsigned long long;

/** What a launch or a bad access leaves behind: the context answers every later call with it. */
struct Context {
    Status failed = Status::success;
    int references = 0; // of the primary context
};

struct Function {
    std::unique_ptr<Program> program;
    uint64_t dynamic_shared_limit = 0; // opted in to, beyond the usual 48 KiB
};

struct Module {
    std::map<std::string, Function> functions;
    std::map<std::string, uint64_t> globals; // addresses of its variables
    std::map<std::string, uint64_t> global_bytes;
    ~Module();
};

/** The only device. */
struct Device {
    int capability = 90; // ATTUNE_EMULATED_CC
    uint64_t shared_opt_in = 0;
    DeviceMemory memory;
    Context primary;

    Device();
};

inline constexpr uint64_t shared_without_opt_in = 48 << 10, shared_reserved = 1024;
inline constexpr uint64_t device_bytes = 16ull << 30;

Device &device();
bool is_initialised();
/** The context of this thread, or null. */
Context *current_context();

/** Prints the reason of a failure. */
void report(const std::string &what);

/** Runs the body of an entry point; what it throws becomes the result. */
template <class F> int guarded(F body) {
    try {
        if (!is_initialised()) return static_cast<int>(Status::not_initialised);
        body();
        return static_cast<int>(Status::success);
    } catch (const Error &error) {
        if (*error.what() != '\0') report(error.what());
        return static_cast<int>(error.status);
    } catch (const std::exception &error) {
        report(error.what());
        return static_cast<int>(Status::unknown);
    }
}

/** The same for one that needs a sound context. */
template <class F> int guarded_in_context(F body) {
    return guarded([&] {
        Context *context = current_context();
        if (context == nullptr) throw Error(Status::invalid_context, "");
        if (context->failed != Status::success) throw Error(context->failed, "");
        body();
    });
}

/** Refuses without a word where `good` is false: callers try some values to see whether they are accepted. */
inline void require(bool good, Status status) {
    if (!good) throw Error(status, "");
}

/** Refuses memory that isn't the device's. */
void require_device_memory(DevicePointer address, size_t bytes, const char *what);

} // namespace attune::emulator
