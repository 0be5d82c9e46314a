// What passes over lowered code ask of expressions.
#pragma once

#include <set>
#include <string>

#include <Halide.h>

namespace attune::schedules {

/** Whether an expression names one of `names`, reads one of `buffers` or calls what isn't pure: whether it may change where those are
 * bound and written. */
bool uses(const Halide::Expr &e, const std::set<std::string> &names, const std::set<std::string> &buffers);

} // namespace attune::schedules
