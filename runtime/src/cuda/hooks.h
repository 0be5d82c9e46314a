// Attune's answers to what generated kernels for CUDA ask of the Halide runtime: driver, context, stream, machine code.
#pragma once

namespace attune::runtime {

/** Installs them, once, as part of install_halide_hooks. A kernel that runs without a user_context gets Halide's own context and stream. */
void install_cuda_hooks();

} // namespace attune::runtime
