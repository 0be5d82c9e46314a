// Positional encodings on a GPU.
#pragma once

#include "runtime/src/cuda/scratch.h"
#include "runtime/src/position/encoding.h"

namespace attune::runtime {

/** Positions as kernels on the GPU read them: those given, or scratch counted up by the kernel `token_positions`. */
class DevicePositions {
public:
    DevicePositions(const CudaDevice &device, Call &call) : call_(call), scratch_(device, call) {}

    Status fill(const Positions &positions, const char *schedule);
    const attune_tensor &numbers() const { return numbers_; } // i32 [own_batch, own_streams, tokens]

private:
    Call &call_;
    DeviceScratch scratch_;
    attune_tensor numbers_ = {};
};

/** As `encode`, for x and y on the GPU. No rows are looked up: those of a learned table follow one another (rows_follow). */
Status encode_on_device(const Encoding &encoding, const Positions &positions, const attune_tensor &x, const attune_tensor &y,
                        const char *schedule, Call &call);

/** The sinusoidal table y, f32, f16 or bf16 [tokens, dim] on the GPU. */
Status sinusoidal_on_device(const Encoding &encoding, const Positions &positions, const attune_tensor &y, const char *schedule, Call &call);

} // namespace attune::runtime
