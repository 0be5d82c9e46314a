// The targets that kernels are made for.
#pragma once

#include <string>
#include <vector>

#include <Halide.h>

namespace attune::test {

/** Those whose instructions this machine has, best first; plain x86-64 always is one. */
std::vector<Halide::Target> runnable_targets();

/** CUDA, which schedules for it can be tried on where there is a driver and a device; otherwise none. */
std::vector<Halide::Target> cuda_targets();

/** OpenCL, as which plain schedules for CUDA run too: with PoCL on the CPU, without a GPU. */
Halide::Target opencl_target();

/** Why nothing can run on the target here, for a test that is skipped to say: OpenCL without a device. Otherwise empty. */
std::string why_not_here(const Halide::Target &target);

/** "avx512", "avx2" or "x86_64"; "opencl" or "cuda". */
std::string name_of_target(const Halide::Target &target);

} // namespace attune::test
