#include "runtime/src/cuda/scratch.h"

#include <cstring>
#include <map>
#include <mutex>

namespace attune::runtime {

namespace {

constexpr int release_threshold = 4; // of cuMemPoolSetAttribute: what a pool keeps when something synchronises

/** A pool a device, made by its first use. The driver's own pool gives memory back at every synchronisation, and gets it again at the cost
 * of a kernel. */
struct Pools {
    std::mutex mutex;
    std::map<int, CudaHandle> of_device;
};

Pools &pools() {
    static Pools *made = new Pools; // calls may outlive static objects
    return *made;
}

Status make_pool(const CudaDevice &device, CudaHandle &pool) {
    const CudaDriver &driver = *device.driver;
    CudaPoolProperties properties;
    properties.device = device.ordinal;
    ATTUNE_TRY(check_cuda(driver, driver.create_pool(&pool, &properties), "make a memory pool"));
    uint64_t everything = UINT64_MAX;
    return check_cuda(driver, driver.set_pool_attribute(pool, release_threshold, &everything), "set up a memory pool");
}

Status find_pool(const CudaDevice &device, CudaHandle &pool) {
    const std::lock_guard<std::mutex> lock(pools().mutex);
    CudaHandle &kept = pools().of_device[device.ordinal];
    if (!kept) {
        CudaHandle made = nullptr;
        ATTUNE_TRY(make_pool(device, made));
        kept = made;
    }
    pool = kept;
    return {};
}

} // namespace

Status DeviceScratch::allocate(const char *what, int64_t bytes) {
    const CudaDriver &driver = *device_.driver;
    if (!driver.has_pools()) return fail(ATTUNE_UNSUPPORTED, "{} needs memory pools, which drivers have from CUDA 11.2 on", what);
    const CurrentContext current(device_);
    CudaHandle pool = nullptr;
    ATTUNE_TRY(find_pool(device_, pool));
    CudaPointer made = 0;
    const CudaResult result = driver.allocate(&made, bytes > 0 ? static_cast<size_t>(bytes) : 1, pool, stream_);
    if (result == 0) std::memcpy(&data_, &made, sizeof(data_)); // the number is an address
    return check_cuda(driver, result, "allocate scratch memory");
}

DeviceScratch::~DeviceScratch() {
    if (!data_) return;
    const CurrentContext current(device_);
    device_.driver->release(reinterpret_cast<uintptr_t>(data_), stream_);
}

void release_device_memory() {
    const std::lock_guard<std::mutex> lock(pools().mutex);
    const CudaDriver *driver = nullptr;
    if (pools().of_device.empty() || !load_cuda_driver(driver).ok()) return;
    for (const auto &[ordinal, pool] : pools().of_device)
        if (pool) driver->trim_pool(pool, 0);
}

} // namespace attune::runtime
