#include "device_memory.h"

#include <stdexcept>
#include <string>

#include <dlfcn.h>

namespace attune::test {
namespace {

/** The few functions of the driver that tests need; cuda.h isn't there. */
struct Driver {
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*set_current)(void *);
    int (*allocate)(uint64_t *, size_t);
    int (*free)(uint64_t);
    int (*to_device)(uint64_t, const void *, size_t);
    int (*to_host)(void *, uint64_t, size_t);
    int (*synchronize)();
};

void check(int result, const char *what) {
    if (result != 0) throw std::runtime_error(std::string(what) + " gives " + std::to_string(result));
}

template <typename Function> void find(void *library, const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function) throw std::runtime_error(std::string("libcuda.so.1 has no ") + name);
}

Driver load() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) throw std::runtime_error(dlerror());
    Driver driver = {};
    find(library, "cuInit", driver.init), find(library, "cuDevicePrimaryCtxRetain", driver.retain);
    find(library, "cuCtxSetCurrent", driver.set_current), find(library, "cuMemAlloc_v2", driver.allocate);
    find(library, "cuMemFree_v2", driver.free), find(library, "cuMemcpyHtoD_v2", driver.to_device);
    find(library, "cuMemcpyDtoH_v2", driver.to_host), find(library, "cuCtxSynchronize", driver.synchronize);
    check(driver.init(0), "cuInit");
    void *context = nullptr;
    check(driver.retain(&context, 0), "cuDevicePrimaryCtxRetain");
    check(driver.set_current(context), "cuCtxSetCurrent");
    return driver;
}

const Driver &driver() {
    static const Driver loaded = load();
    return loaded;
}

/** From the first element to past the last; strides aren't negative. */
size_t span(const attune_tensor &tensor) {
    int64_t last = 0;
    for (int32_t axis = 0; axis < tensor.rank; axis++) {
        if (tensor.extent[axis] == 0) return 0;
        last += (tensor.extent[axis] - 1) * tensor.stride[axis];
    }
    return static_cast<size_t>(last + 1) * attune_type_size(tensor.type);
}

} // namespace

DeviceMemory::DeviceMemory() { driver(); }

DeviceMemory::~DeviceMemory() {
    for (uint64_t block : blocks_)
        driver().free(block);
}

attune_tensor DeviceMemory::upload(const attune_tensor &host) {
    attune_tensor device = host;
    device.device = ATTUNE_CUDA;
    uint64_t block = 0;
    const size_t bytes = span(host);
    check(driver().allocate(&block, bytes > 0 ? bytes : 16), "cuMemAlloc");
    blocks_.push_back(block);
    if (bytes > 0) check(driver().to_device(block, host.data, bytes), "cuMemcpyHtoD");
    device.data = reinterpret_cast<void *>(block);
    return device;
}

void DeviceMemory::download(const attune_tensor &device, const attune_tensor &host) {
    if (!synchronize()) throw std::runtime_error("a kernel failed");
    const size_t bytes = span(host);
    if (bytes > 0) check(driver().to_host(host.data, reinterpret_cast<uint64_t>(device.data), bytes), "cuMemcpyDtoH");
}

bool DeviceMemory::synchronize() { return driver().synchronize() == 0; }

} // namespace attune::test
