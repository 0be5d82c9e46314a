// How lowered code names the loops of a Func's stages.
#pragma once

#include <string>

#include <Halide.h>

namespace attune::schedules {

/** Of a Func's stages the definition that isn't an update. Updates count from 0, as in Func::update(). */
constexpr int pure_definition = -1;

/** What the names of the loops of an update, or of pure_definition, begin with. */
inline std::string loops_of(const Halide::Func &func, int update) { return func.name() + ".s" + std::to_string(update + 1) + "."; }

} // namespace attune::schedules
