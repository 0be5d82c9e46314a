// Loads in expressions of lowered code.
#pragma once

#include <string>

#include <Halide.h>

namespace attune::dsl {

/** The first load of an expression, a load or a cast of one. Throws Halide::CompileError where there is none: nothing `was_to` be done. */
const Halide::Internal::Load &load_of(const Halide::Expr &loading, const std::string &was_to);

/** The address (u64) of a buffer's first element, and of the one at a scalar index. */
Halide::Expr first_address(const std::string &buffer);
Halide::Expr address_at(const std::string &buffer, const Halide::Expr &index, int element_bytes);

} // namespace attune::dsl
