// Results that are stored in the loops of another result.
//
// Halide gives each output of a pipeline a loop nest of its own, and what two of them read has to lie in memory until the second is done.
// So the lesser outputs may be declared without values, and the values marked where they come about.
#pragma once

#include <vector>

#include <Halide.h>

namespace attune::dsl {

/** `value`; and where `condition` holds, element `at` of side output `number` has it too. Only in pipelines that lower_side_outputs() was
 * called for, and as the whole value of a Func that is stored, or one side of a branch() that is decided when the code is lowered. */
Halide::Expr also_stored(const Halide::Expr &value, int number, const Halide::Expr &condition, const std::vector<Halide::Expr> &at);

/** Turns also_stored() into stores. `outputs`: the side outputs by number, each an output of the pipeline that is declared as undef, and
 * contiguous along its first axis. */
void lower_side_outputs(Halide::Pipeline pipeline, const std::vector<Halide::Func> &outputs);

} // namespace attune::dsl
