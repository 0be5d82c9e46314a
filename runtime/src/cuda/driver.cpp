#include "runtime/src/cuda/driver.h"

#include <dlfcn.h>

#include "runtime/src/error.h"

namespace attune::runtime {

namespace {

constexpr CudaResult cuda_out_of_memory = 2;

/** What came of loading it. */
struct Loaded {
    CudaDriver driver = {};
    Status status;
};

void *open_library() {
    static void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library;
}

std::string reason_of_dlopen() {
    const char *reason = dlerror();
    return reason ? reason : "it can't be opened";
}

template <typename Function> bool find(const char *name, Function *&function) {
    function = reinterpret_cast<Function *>(cuda_symbol(name));
    return function != nullptr;
}

/** The name of the first function that the driver lacks, or nullptr. Versioned names are those that cuda.h makes of the plain ones. */
const char *find_functions(CudaDriver &d) {
    if (!find("cuInit", d.init)) return "cuInit";
    if (!find("cuGetErrorString", d.error_string)) return "cuGetErrorString";
    if (!find("cuDeviceGetCount", d.device_count)) return "cuDeviceGetCount";
    if (!find("cuDeviceGetName", d.device_name)) return "cuDeviceGetName";
    if (!find("cuDeviceGetAttribute", d.device_attribute)) return "cuDeviceGetAttribute";
    if (!find("cuDevicePrimaryCtxRetain", d.retain_primary_context)) return "cuDevicePrimaryCtxRetain";
    if (!find("cuCtxGetCurrent", d.current_context)) return "cuCtxGetCurrent";
    if (!find("cuCtxGetDevice", d.current_device)) return "cuCtxGetDevice";
    if (!find("cuCtxPushCurrent_v2", d.push_context)) return "cuCtxPushCurrent_v2";
    if (!find("cuCtxPopCurrent_v2", d.pop_context)) return "cuCtxPopCurrent_v2";
    if (!find("cuModuleLoadData", d.load_module)) return "cuModuleLoadData";
    if (!find("cuModuleGetFunction", d.module_function)) return "cuModuleGetFunction";
    if (!find("cuFuncSetAttribute", d.set_function_attribute)) return "cuFuncSetAttribute";
    if (!find("cuMemsetD2D8Async", d.fill_bytes)) return "cuMemsetD2D8Async";
    if (!find("cuMemsetD2D32Async", d.fill_words)) return "cuMemsetD2D32Async";
    if (!find("cuMemcpy2DAsync_v2", d.copy)) return "cuMemcpy2DAsync_v2";
    find("cuMemPoolCreate", d.create_pool);
    find("cuMemPoolSetAttribute", d.set_pool_attribute);
    find("cuMemPoolTrimTo", d.trim_pool);
    find("cuMemAllocFromPoolAsync", d.allocate);
    find("cuMemFreeAsync", d.release);
    return nullptr;
}

Status load(CudaDriver &driver) {
    dlerror();
    if (!open_library())
        return fail(ATTUNE_UNSUPPORTED, "device cuda needs NVIDIA's driver, and its library libcuda.so.1 can't be loaded: {}",
                    reason_of_dlopen());
    if (const char *missing = find_functions(driver))
        return fail(ATTUNE_UNSUPPORTED, "device cuda needs a driver of CUDA 11 or later; libcuda.so.1 has no {}", missing);
    const CudaResult result = driver.init(0);
    if (result == 0) return {};
    const char *text = nullptr;
    driver.error_string(result, &text);
    return fail(ATTUNE_UNSUPPORTED, "device cuda can't be used: cuInit failed with error {}: {}", result, text ? text : "unknown");
}

} // namespace

void *cuda_symbol(const char *name) { return open_library() ? dlsym(open_library(), name) : nullptr; }

Status load_cuda_driver(const CudaDriver *&driver) {
    static const Loaded &loaded = []() -> const Loaded & { // never destroyed: calls may run while the process exits
        auto *made = new Loaded;
        made->status = load(made->driver);
        return *made;
    }();
    if (loaded.status.ok()) driver = &loaded.driver;
    return loaded.status;
}

Status check_cuda(const CudaDriver &driver, CudaResult result, const char *what) {
    if (result == 0) return {};
    const char *text = nullptr;
    driver.error_string(result, &text);
    return fail(result == cuda_out_of_memory ? ATTUNE_OUT_OF_MEMORY : ATTUNE_INTERNAL, "CUDA failed to {} with error {}: {}", what, result,
                text ? text : "unknown");
}

} // namespace attune::runtime
