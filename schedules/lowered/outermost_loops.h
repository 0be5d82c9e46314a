// Where lowered code has a loop.
#pragma once

#include <set>
#include <string>

#include <Halide.h>

#include "schedules/lowered/uses.h"

namespace attune::schedules {

/** The loops of a statement whose names begin alike, that are in no other loop and under no condition. */
struct OutermostLoops {
    int count = 0;
    const Halide::Internal::For *loop = nullptr; // the last of them, and the names bound around it
    Values names;
    std::set<std::string> allocated; // around it
};

OutermostLoops outermost_loops(const Halide::Internal::Stmt &s, const std::string &prefix);

/** A statement with another in the place of one of its loops, which is under no condition. */
Halide::Internal::Stmt with_loop_replaced(const Halide::Internal::Stmt &s, const Halide::Internal::For *loop,
                                          const Halide::Internal::Stmt &by);

} // namespace attune::schedules
