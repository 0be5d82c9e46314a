// Names of results, and entry points by name.
#include <dlfcn.h>

#include "driver.h"

namespace attune::emulator {
namespace {

struct ResultName {
    Status status;
    const char *name, *text;
};

const ResultName *find_result(int result) {
    static const ResultName names[] = {
        {Status::success, "CUDA_SUCCESS", "no error"},
        {Status::invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
        {Status::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
        {Status::not_initialised, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
        {Status::invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
        {Status::invalid_image, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
        {Status::invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
        {Status::no_binary_for_device, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
        {Status::invalid_ptx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
        {Status::invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
        {Status::not_found, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
        {Status::not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
        {Status::illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
        {Status::launch_out_of_resources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
        {Status::misaligned_address, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
        {Status::launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
        {Status::not_supported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
        {Status::unknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
    };
    for (const ResultName &entry : names) {
        if (static_cast<int>(entry.status) == result) return &entry;
    }
    return nullptr;
}

/** The entry point of this name in this library, the newest version of it. */
void *find_entry(const std::string &name) {
    Dl_info info;
    if (dladdr(reinterpret_cast<void *>(find_result), &info) == 0) return nullptr;
    void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return nullptr;
    void *entry = dlsym(library, (name + "_v2").c_str());
    if (entry == nullptr) entry = dlsym(library, name.c_str());
    dlclose(library);
    return entry;
}

} // namespace
} // namespace attune::emulator

using namespace attune::emulator;

DRIVER_API cuGetErrorName(int result, const char **name) {
    const ResultName *found = find_result(result);
    *name = found != nullptr ? found->name : nullptr;
    return static_cast<int>(found != nullptr ? Status::success : Status::invalid_value);
}
DRIVER_API cuGetErrorString(int result, const char **text) {
    const ResultName *found = find_result(result);
    *text = found != nullptr ? found->text : nullptr;
    return static_cast<int>(found != nullptr ? Status::success : Status::invalid_value);
}
DRIVER_API cuGetProcAddress_v2(const char *name, void **entry, int, uint64_t, int *found) {
    *entry = find_entry(name);
    if (found != nullptr) *found = *entry != nullptr ? 0 : 1; // CU_GET_PROC_ADDRESS_SUCCESS, _SYMBOL_NOT_FOUND
    return static_cast<int>(*entry != nullptr ? Status::success : Status::not_found);
}
DRIVER_API cuGetProcAddress(const char *name, void **entry, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, entry, version, flags, nullptr);
}
