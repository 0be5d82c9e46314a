// The GPU that a call runs on, and what can be done to its memory.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/src/cuda/driver.h"
#include "runtime/src/kernel/call.h"

namespace attune::runtime {

/** The device of the calling thread's current context, or device 0 and its primary context where the thread has none. */
struct CudaDevice {
    const CudaDriver *driver = nullptr;
    CudaHandle context = nullptr;
    int ordinal = 0;
    int capability = 0; // 10 times the compute capability: 90
};

/** UNSUPPORTED where there is no driver, no device, or one that is too old for every kernel. */
Status find_cuda_device(CudaDevice &device);

/** "NVIDIA H200, compute capability 9.0". */
std::string describe(const CudaDevice &device);

/** "9.0" for 90. */
std::string capability_text(int capability);

/** True if a kernel with the machine code and PTX of `targets` ("sm_80,sm_90a,compute_80") runs on devices of this capability. */
bool runs_on_cuda(const char *targets, int capability);

/** Makes the device that of the call: its kernels launch there, on the call's stream. */
void use_device(const CudaDevice &device, Call &call);

inline constexpr uint32_t minus_infinity_bits = 0xff800000; // of a float

/** Makes every element of a tensor on the device these bits, on the call's stream: of 32-bit types any, of others 0. */
Status fill_on_device(const CudaDevice &device, const attune_tensor &tensor, uint32_t bits, Call &call);

/** `given`, or what stands in for a tensor that isn't: kernels don't read it, but Halide's runtime would allocate it were it NULL. It is
 * of extent 1 in each axis and lies where `instead` does, which is on the device. */
attune_tensor or_stand_in_on_device(const attune_tensor *given, const attune_tensor &instead, attune_type type, int32_t rank);

/** The device's context is the thread's current one while this lives. */
class CurrentContext {
public:
    explicit CurrentContext(const CudaDevice &device);
    ~CurrentContext();
    CurrentContext(const CurrentContext &) = delete;
    CurrentContext &operator=(const CurrentContext &) = delete;

private:
    const CudaDevice &device_;
    const bool pushed_; // else the calls to the driver that follow say what is wrong
};

} // namespace attune::runtime
