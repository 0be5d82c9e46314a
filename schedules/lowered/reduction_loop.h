// How passes over lowered code move the loop of a reduction's update to where what it reads is made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <Halide.h>

#include "schedules/lowered/uses.h"

namespace attune::schedules {

/** The loop of a reduction's update, out of the statement it was in. */
struct ReductionLoop {
    const Halide::Internal::For *loop; // and the names bound around it
    Values names;
    std::vector<Halide::Internal::Stmt> begin; // what the reduction begins with
    Halide::Internal::Stmt rest;               // what is left of the statement
};

/** Takes the one outermost loop whose name begins so out of a statement, with what its reduction begins with; nothing where there isn't
 * one. `before` is the loop or Func that both are to go to, before the statement. Throws Halide::CompileError where the reduction has no
 * memory there yet, or nothing begins it. */
std::optional<ReductionLoop> take_reduction_loop(const Halide::Internal::Stmt &s, const std::string &prefix, const std::string &reduced,
                                                 const std::string &before);

} // namespace attune::schedules
