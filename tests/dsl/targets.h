// The targets that kernels are made for.
#pragma once

#include <string>
#include <vector>

#include <Halide.h>

namespace attune::test {

/** Those whose instructions this machine has, best first; plain x86-64 always is one. */
std::vector<Halide::Target> runnable_targets();

/** Those that schedules for CUDA can be tried on here: OpenCL where a library of it is found that has a device, which PoCL has without a
 * GPU, and CUDA where a driver is. Often there are none. */
std::vector<Halide::Target> device_targets();

/** "avx512", "avx2" or "x86_64"; "opencl" or "cuda". */
std::string name_of_target(const Halide::Target &target);

} // namespace attune::test
