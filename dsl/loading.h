// Loads in expressions of lowered code.
#pragma once

#include <string>

#include <Halide.h>

namespace attune::dsl {

/** The first load of an expression, a load or a cast of one. Throws Halide::CompileError where there is none: nothing is loaded `where`. */
const Halide::Internal::Load &load_of(const Halide::Expr &loading, const std::string &where);

/** The address (u64) of a buffer's element at a scalar index. */
Halide::Expr address_at(const std::string &buffer, const Halide::Expr &index, int element_bytes);

/** The address (u64) at which the memory of a pipeline's buffer begins, in expressions that aren't lowered yet. */
Halide::Expr address_of(const Halide::Parameter &buffer);

/** The same in the memory of a device. */
Halide::Expr device_address_of(const Halide::Parameter &buffer);

} // namespace attune::dsl
