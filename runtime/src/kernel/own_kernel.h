// Kernels that attune_add_kernel makes (cmake/AttuneKernels.cmake): what it is asked for, in CMake's words. Tools include this, too.
#pragma once

#include <cstdint>
#include <string>

#include "attune/attune.h"
#include "text/mask.h"

namespace attune::runtime {

/** On ATTUNE_CPU, of plans as well. */
inline constexpr const char *default_schedule = "flash";

/** The schedule that attune_add_kernel takes by itself. Tensor cores multiply 16 bits, and have kernels of these widths. */
constexpr const char *usual_schedule(attune_device device, attune_type dtype, int64_t head_dim) {
    if (device != ATTUNE_CUDA) return default_schedule;
    const bool fits_tensor_cores = head_dim == 64 || head_dim == 96 || head_dim == 128 || head_dim == 192 || head_dim == 256;
    return dtype != ATTUNE_F32 && fits_tensor_cores ? "mma" : "simt";
}

/** Whether it takes the mask: on a GPU no kernel reads maps of blocks. */
inline bool takes_mask(attune_device device, const text::Mask &mask) {
    return device != ATTUNE_CUDA || !text::names_term(mask.root, text::MaskKind::blocks);
}

/** What it is asked for; "" for none. */
struct OwnKernel {
    attune_device device;
    attune_type dtype;
    int64_t head_dim, value_dim;
    std::string mask, score = {}, position = {};
    std::string schedule = {}; // "": the usual one
};

/** The call of attune_add_kernel, in one line. */
std::string cmake_line(const OwnKernel &kernel);

/** A text in one line, as CMake and a message take it. */
std::string in_one_line(std::string text);

} // namespace attune::runtime
