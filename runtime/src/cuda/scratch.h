// Scratch memory on the GPU.
#pragma once

#include "runtime/src/cuda/device.h"

namespace attune::runtime {

/** Memory in the order of the call's stream: released behind the work that was launched while this lived, without waiting for it. */
class DeviceScratch {
public:
    DeviceScratch(const CudaDevice &device, Call &call) : device_(device), stream_(call.context().cuda_stream) {}
    ~DeviceScratch();
    DeviceScratch(const DeviceScratch &) = delete;
    DeviceScratch &operator=(const DeviceScratch &) = delete;

    /** `what` it is for. At most once an object. */
    Status allocate(const char *what, int64_t bytes);
    void *data() const { return data_; }

private:
    const CudaDevice device_;
    const CudaHandle stream_;
    void *data_ = nullptr;
};

/** Gives back what calls on the GPU have kept. */
void release_device_memory();

} // namespace attune::runtime
