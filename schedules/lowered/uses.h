// What passes over lowered code ask of expressions and statements.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <Halide.h>

namespace attune::schedules {

/** Whether an expression names one of `names`, reads one of `buffers` or calls what isn't pure: whether it may change where those are
 * bound and written. */
bool uses(const Halide::Expr &e, const std::set<std::string> &names, const std::set<std::string> &buffers);

/** The buffers a statement stores to. */
std::set<std::string> stored_in(const Halide::Internal::Stmt &s);

/** Names bound around a statement, and what they stand for, the outermost first. */
using Values = std::vector<std::pair<std::string, Halide::Expr>>;

/** An expression within them, in terms of what is known outside. */
Halide::Expr substituted(const Values &values, Halide::Expr e);

} // namespace attune::schedules
