// The calls of warp_* functions become the PTX instructions that they stand for.
#pragma once

#include <set>
#include <string>

#include "module.h"

namespace attune::ptx {

/** Whether a function's name says that it is a warp operation. */
bool is_warp_operation(const std::string &name);

/** Replaces every call of a warp operation in the kernel. Calls of `functions`, which the module defines, stay. Throws Error where a
 * function is unknown, or where calls that belong together can't be merged safely. */
void replace_warp_operations(Kernel &kernel, const std::set<std::string> &functions = {});

} // namespace attune::ptx
