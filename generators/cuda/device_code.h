// A compiled module's code for the GPU, and what replaces it.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <Halide.h>

namespace attune::generators {

/** The PTX that Halide made. Throws Halide::CompileError where the module has no kernel for CUDA. */
std::string device_code(const Halide::Module &module);

/** Threads of a block of each kernel, by its name in the PTX. Only kernels whose blocks have a fixed size are listed. */
std::map<std::string, int> block_threads(const Halide::Module &module);

/** The same module with other code for the GPU: PTX text that ends in a zero, or a fatbin. */
Halide::Module with_device_code(const Halide::Module &module, const std::string &code);

} // namespace attune::generators
