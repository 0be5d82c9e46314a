// Memory of the GPU that tests run on, or of the emulator in its place.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/attune.h"

namespace attune::test {

/** Tensors on the device, freed with the object. Whatever fails throws std::runtime_error. */
class DeviceMemory {
public:
    DeviceMemory();
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory &) = delete;
    DeviceMemory &operator=(const DeviceMemory &) = delete;

    /** A copy of a tensor in the host's memory, with the same strides. Nothing around it is there to be read. */
    attune_tensor upload(const attune_tensor &host);
    /** The other way, once everything launched has finished. Memory between rows comes along. */
    void download(const attune_tensor &device, const attune_tensor &host);
    /** Waits for everything launched; false where something of it failed. */
    bool synchronize();

private:
    std::vector<uint64_t> blocks_;
};

} // namespace attune::test
