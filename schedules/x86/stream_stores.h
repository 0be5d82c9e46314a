// Stores that go past the caches, which Halide 21 lacks.
#pragma once

#include <string>

#include <Halide.h>

#include "schedules/machine.h"

namespace attune::schedules::x86 {

/** Cuts the innermost axis of a stage into runs that go past the caches, of vectors of so many lanes. */
void stream_runs(Halide::Stage stage, const Halide::Var &along, int lanes, const Halide::Type &type);

/** The name of a loop each pass of which stores a row, which goes past the caches as a whole. */
extern const Halide::Var streamed_row;

/** Whether an output is too large to stay in the caches, and for streamed_row also whether its rows are short enough: what to specialize
 * by, so that the other branch stays as it is. */
Halide::Expr is_streamed(const Halide::Func &output);
Halide::Expr rows_are_streamed(const Halide::Func &output);

/** Makes runs and rows what they say, in pipelines of one output whose axis `along` is contiguous: each fills a buffer in the
 * first-level cache instead, from which the runtime's attune_stream() writes, and each pass of a parallel loop ends with a fence. While it
 * writes, the runtime asks for what will be read of the buffer `input` some rows later, if a pass reads there; "" for no buffer. */
void lower_streams(Halide::Pipeline pipeline, const Machine &machine, const std::string &input, int along);

} // namespace attune::schedules::x86
