#include "runtime/src/cuda/hooks.h"

#include <cstring>

#include "runtime/src/cuda/driver.h"
#include "runtime/src/kernel/call.h"
#include "runtime/src/kernel/halide_runtime.h"
#include "runtime/src/kernel/original_hook.h"

namespace attune::runtime {

namespace {

// Of cuFuncSetAttribute and cuDeviceGetAttribute.
constexpr int dynamic_shared_memory = 8, most_shared_memory = 97;

struct Originals {
    OriginalHook<halide_cuda_acquire_context_t> acquire;
    OriginalHook<halide_cuda_release_context_t> release;
    OriginalHook<halide_cuda_get_stream_t> stream;
};

Originals originals;

const CallContext *context_of(void *user_context) { return static_cast<const CallContext *>(user_context); }

int acquire_context(void *user_context, void **context, bool create) {
    if (!user_context) return originals.acquire(user_context, context, create);
    *context = context_of(user_context)->cuda_context;
    return halide_error_code_success;
}

int release_context(void *user_context) { return user_context ? halide_error_code_success : originals.release(user_context); }

int get_stream(void *user_context, void *context, void **stream) {
    if (!user_context) return originals.stream(user_context, context, stream);
    *stream = context_of(user_context)->cuda_stream;
    return halide_error_code_success;
}

/** cuModuleLoadDataEx without its options: they limit the registers of code compiled at run time, and machine code has no use for them. */
CudaResult load_module(CudaHandle *module, const void *image, unsigned, int *, void **) {
    const CudaDriver *driver = nullptr;
    return load_cuda_driver(driver).ok() ? driver->load_module(module, image) : 3; // not initialised
}

/** cuModuleGetFunction, and leave to use as much shared memory as a block may have: 48 KB need none. */
CudaResult find_function(CudaHandle *function, CudaHandle module, const char *name) {
    const CudaDriver *driver = nullptr;
    if (!load_cuda_driver(driver).ok()) return 3;
    const CudaResult result = driver->module_function(function, module, name);
    int device = 0, bytes = 0;
    if (result == 0 && driver->current_device(&device) == 0 && driver->device_attribute(&bytes, most_shared_memory, device) == 0)
        driver->set_function_attribute(*function, dynamic_shared_memory, bytes); // where it fails, the launch says so
    return result;
}

} // namespace

void install_cuda_hooks() {
    originals.acquire.note(halide_set_cuda_acquire_context(acquire_context));
    originals.release.note(halide_set_cuda_release_context(release_context));
    originals.stream.note(halide_set_cuda_get_stream(get_stream));
}

} // namespace attune::runtime

/** Where Halide's runtime finds the driver's functions. Its own definition is weak, and this one takes its place wherever
 * install_halide_hooks is linked in. */
extern "C" void *halide_cuda_get_symbol(void *, const char *name) {
    using namespace attune::runtime;
    if (std::strcmp(name, "cuModuleLoadDataEx") == 0) return reinterpret_cast<void *>(load_module);
    if (std::strcmp(name, "cuModuleGetFunction") == 0) return reinterpret_cast<void *>(find_function);
    return cuda_symbol(name);
}
