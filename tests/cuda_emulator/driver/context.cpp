// Initialisation and contexts. Every thread has a stack of contexts, the last of them current.
#include <atomic>
#include <mutex>
#include <set>

#include "driver.h"

namespace attune::emulator {
namespace {

// Programs call while their own static objects are destroyed: nothing here may be gone by then.
std::atomic<bool> initialised{false};

struct Contexts {
    std::mutex mutex;
    std::set<Context *> created;
};

Contexts &contexts() {
    static auto *all = new Contexts;
    return *all;
}

/** Those of a thread. */
class Stack {
public:
    Context *top() const { return depth > 0 ? entries[depth - 1] : nullptr; }
    void push(Context *context) {
        require(depth < most, Status::invalid_value);
        entries[depth++] = context;
    }
    void pop() {
        require(depth > 0, Status::invalid_context);
        --depth;
    }

private:
    static constexpr int most = 64;
    Context *entries[most];
    int depth;
};

thread_local Stack stack;

bool is_alive(Context *context) {
    const std::lock_guard<std::mutex> lock(contexts().mutex);
    return contexts().created.count(context) != 0 || (context == &device().primary && context->references > 0);
}

void require_alive(Context *context) { require(is_alive(context), Status::invalid_context); }

} // namespace

bool is_initialised() { return initialised; }

Context *current_context() { return is_alive(stack.top()) ? stack.top() : nullptr; }

} // namespace attune::emulator

using namespace attune::emulator;

DRIVER_API cuInit(unsigned flags) {
    if (flags != 0) return static_cast<int>(Status::invalid_value);
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        report("the emulator needs a CPU with AVX2, FMA and F16C");
        return static_cast<int>(Status::not_supported);
    }
    initialised = true;
    return 0;
}
DRIVER_API cuCtxCreate_v2(Context **context, unsigned, int ordinal) {
    return guarded([=] {
        require(ordinal == 0, Status::invalid_device);
        *context = new Context;
        stack.push(*context);
        const std::lock_guard<std::mutex> lock(contexts().mutex);
        contexts().created.insert(*context);
    });
}
DRIVER_API cuCtxDestroy_v2(Context *context) {
    return guarded([=] {
        if (current_context() == context) stack.pop();
        const std::lock_guard<std::mutex> lock(contexts().mutex);
        require(contexts().created.erase(context) != 0, Status::invalid_context);
        delete context;
    });
}
DRIVER_API cuDevicePrimaryCtxRetain(Context **context, int ordinal) {
    return guarded([=] {
        require(ordinal == 0, Status::invalid_device);
        const std::lock_guard<std::mutex> lock(contexts().mutex);
        *context = &device().primary;
        ++device().primary.references;
    });
}
DRIVER_API cuDevicePrimaryCtxRelease_v2(int ordinal) {
    return guarded([=] {
        require(ordinal == 0, Status::invalid_device);
        const std::lock_guard<std::mutex> lock(contexts().mutex);
        require(device().primary.references > 0, Status::invalid_context);
        if (--device().primary.references == 0) device().primary.failed = Status::success;
    });
}
DRIVER_API cuDevicePrimaryCtxRelease(int ordinal) { return cuDevicePrimaryCtxRelease_v2(ordinal); }
DRIVER_API cuDevicePrimaryCtxReset_v2(int ordinal) {
    return guarded([=] {
        require(ordinal == 0, Status::invalid_device);
        device().primary.failed = Status::success;
    });
}
DRIVER_API cuDevicePrimaryCtxGetState(int ordinal, unsigned *flags, int *active) {
    return guarded([=] {
        require(ordinal == 0, Status::invalid_device);
        *flags = 0;
        *active = device().primary.references > 0 ? 1 : 0;
    });
}
DRIVER_API cuDevicePrimaryCtxSetFlags_v2(int, unsigned) {
    return guarded([] {});
}
DRIVER_API cuCtxGetCurrent(Context **context) {
    return guarded([=] { *context = current_context(); });
}
DRIVER_API cuCtxSetCurrent(Context *context) {
    return guarded([=] {
        if (context != nullptr) require_alive(context);
        if (stack.top() != nullptr) stack.pop();
        if (context != nullptr) stack.push(context);
    });
}
DRIVER_API cuCtxPushCurrent_v2(Context *context) {
    return guarded([=] {
        require_alive(context);
        stack.push(context);
    });
}
DRIVER_API cuCtxPopCurrent_v2(Context **context) {
    return guarded([=] {
        Context *top = stack.top();
        stack.pop();
        if (context != nullptr) *context = top;
    });
}
DRIVER_API cuCtxGetDevice(int *ordinal) {
    return guarded([=] {
        require(current_context() != nullptr, Status::invalid_context);
        *ordinal = 0;
    });
}
DRIVER_API cuCtxGetApiVersion(Context *, unsigned *version) {
    return guarded([=] { *version = 3020; });
}
DRIVER_API cuCtxSynchronize() {
    return guarded_in_context([] {});
}
DRIVER_API cuCtxSetLimit(int, size_t) {
    return guarded_in_context([] {});
}
DRIVER_API cuCtxSetCacheConfig(int) {
    return guarded_in_context([] {});
}
DRIVER_API cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    return guarded_in_context([=] {
        if (least != nullptr) *least = 0;
        if (greatest != nullptr) *greatest = 0;
    });
}
DRIVER_API cuProfilerStart() {
    return guarded([] {});
}
DRIVER_API cuProfilerStop() {
    return guarded([] {});
}
