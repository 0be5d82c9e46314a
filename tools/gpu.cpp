#include "gpu.h"

#include <dlfcn.h>

#include "error.h"

namespace attune::tools {

struct Gpu::Functions {
    int (*retain)(void **context, int device);
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*allocate)(uint64_t *pointer, size_t bytes);
    int (*release)(uint64_t pointer);
    int (*to_device)(uint64_t to, const void *from, size_t bytes);
    int (*to_host)(void *to, uint64_t from, size_t bytes);
    int (*copy)(uint64_t to, uint64_t from, size_t bytes, void *stream);
    int (*wait)();
    int (*free_bytes)(size_t *left, size_t *all);
    int (*attribute)(int *value, int which, int device);
    int (*driver_version)(int *version);
};

namespace {

template <typename Function> void find(Function *&function, const char *name) {
    static void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    function = reinterpret_cast<Function *>(library ? dlsym(library, name) : nullptr);
    if (!function) failure("libcuda.so.1 has no {}", name);
}

void require(int result, const char *what) {
    if (result != 0) failure("CUDA failed to {} with error {}", what, result);
}

} // namespace

const Gpu::Functions &Gpu::functions() {
    static const Functions found = [] {
        require_ok(cuda_status());
        Functions f = {};
        find(f.retain, "cuDevicePrimaryCtxRetain");
        find(f.push, "cuCtxPushCurrent_v2");
        find(f.pop, "cuCtxPopCurrent_v2");
        find(f.allocate, "cuMemAlloc_v2");
        find(f.release, "cuMemFree_v2");
        find(f.to_device, "cuMemcpyHtoD_v2");
        find(f.to_host, "cuMemcpyDtoH_v2");
        find(f.copy, "cuMemcpyDtoDAsync_v2");
        find(f.wait, "cuCtxSynchronize");
        find(f.free_bytes, "cuMemGetInfo_v2");
        find(f.attribute, "cuDeviceGetAttribute");
        find(f.driver_version, "cuDriverGetVersion");
        return f;
    }();
    return found;
}

Gpu::Gpu() {
    void *context = nullptr;
    require(functions().retain(&context, 0), "make a context on device 0");
    require(functions().push(context), "enter the context");
}

Gpu::~Gpu() {
    void *context = nullptr;
    functions().pop(&context); // which stays until the process ends: the library uses it, too
}

uint64_t Gpu::allocate(int64_t bytes) const {
    uint64_t pointer = 0;
    require(functions().allocate(&pointer, bytes > 0 ? static_cast<size_t>(bytes) : 1), "allocate memory");
    return pointer;
}

void Gpu::release(uint64_t pointer) const { functions().release(pointer); }

void Gpu::to_device(uint64_t to, const void *from, int64_t bytes) const {
    if (bytes > 0) require(functions().to_device(to, from, static_cast<size_t>(bytes)), "copy an input");
}

void Gpu::to_host(void *to, uint64_t from, int64_t bytes) const {
    if (bytes > 0) require(functions().to_host(to, from, static_cast<size_t>(bytes)), "copy an output");
}

void Gpu::copy(uint64_t to, uint64_t from, int64_t bytes) const {
    if (bytes > 0) require(functions().copy(to, from, static_cast<size_t>(bytes), nullptr), "copy on the device");
}

void Gpu::wait() const { require(functions().wait(), "finish the call"); }

int64_t Gpu::free_bytes() const {
    size_t left = 0, all = 0;
    require(functions().free_bytes(&left, &all), "tell how much memory is free");
    return static_cast<int64_t>(left);
}

int64_t Gpu::attribute(int which) const {
    int value = 0;
    require(functions().attribute(&value, which, 0), "tell an attribute of the device");
    return value;
}

int Gpu::driver_version() const {
    int version = 0;
    require(functions().driver_version(&version), "tell its version");
    return version;
}

struct GpuTimer::Functions {
    int (*create)(void **event, unsigned flags);
    int (*destroy)(void *event);
    int (*record)(void *event, void *stream);
    int (*wait)(void *event);
    int (*elapsed)(float *milliseconds, void *begin, void *end);
};

const GpuTimer::Functions &GpuTimer::functions() {
    static const Functions found = [] {
        Functions f = {};
        find(f.create, "cuEventCreate");
        find(f.destroy, "cuEventDestroy_v2");
        find(f.record, "cuEventRecord");
        find(f.wait, "cuEventSynchronize");
        find(f.elapsed, "cuEventElapsedTime");
        return f;
    }();
    return found;
}

GpuTimer::GpuTimer() {
    require(functions().create(&begin_, 0), "make an event");
    require(functions().create(&end_, 0), "make an event");
}

GpuTimer::~GpuTimer() {
    functions().destroy(begin_);
    functions().destroy(end_);
}

void GpuTimer::record(void *event) const { require(functions().record(event, nullptr), "record an event"); }

double GpuTimer::elapsed() const {
    float milliseconds = 0;
    require(functions().wait(end_), "finish what is timed");
    require(functions().elapsed(&milliseconds, begin_, end_), "read the time");
    return static_cast<double>(milliseconds) * 1e-3;
}

} // namespace attune::tools
