// The targets that kernels are made for.
#pragma once

#include <string>
#include <vector>

#include <Halide.h>

namespace attune::test {

/** Those whose instructions this machine has, best first; plain x86-64 always is one. */
std::vector<Halide::Target> runnable_targets();

/** "avx512", "avx2" or "x86_64". */
std::string name_of_target(const Halide::Target &target);

} // namespace attune::test
