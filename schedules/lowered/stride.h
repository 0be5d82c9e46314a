// What passes over lowered code ask of indices.
#pragma once

#include <string>

#include <Halide.h>

namespace attune::schedules {

/** How far an index moves with a variable; undefined if that isn't the same everywhere. */
Halide::Expr stride_of(const Halide::Expr &index, const std::string &variable);

} // namespace attune::schedules
