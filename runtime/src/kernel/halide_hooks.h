// Attune's answers to what generated kernels ask of the Halide runtime: memory, threads, errors, CPU features. CUDA's
// are in cuda/hooks.h.
#pragma once

namespace attune::runtime {

/** Installs them, once. A kernel that runs without a user_context gets Halide's own behaviour. */
void install_halide_hooks();

} // namespace attune::runtime
