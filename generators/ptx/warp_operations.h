// The calls of warp_* functions become the PTX instructions that they stand for.
#pragma once

#include "module.h"

namespace attune::ptx {

/** Whether a function's name says that it is a warp operation. */
bool is_warp_operation(const std::string &name);

/** Replaces every call of a warp operation in the kernel. Throws Error where one is unknown, or where calls that belong together can't be
 * merged safely. */
void replace_warp_operations(Kernel &kernel);

} // namespace attune::ptx
