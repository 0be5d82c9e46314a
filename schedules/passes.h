// The passes over lowered code that schedules count on.
#pragma once

#include <string>

#include <Halide.h>

#include "dsl/attention/attention.h"
#include "dsl/attention/simt.h"
#include "dsl/decode/decode.h"
#include "dsl/linear.h"
#include "dsl/normalization.h"
#include "dsl/position.h"
#include "dsl/softmax.h"
#include "schedules/machine.h"

namespace attune::schedules {

/** Adds the passes that every schedule of what was declared may count on, each of them where the machine or the declaration asks for it, in
 * the order that they need. `pipeline`: of the declaration's results. (In a generator schedule() calls it: in generate() the pipeline isn't
 * known yet.) */
void add_passes(Halide::Pipeline pipeline, const dsl::Attention &attention, const Machine &machine);
void add_passes(Halide::Pipeline pipeline, const dsl::Decode &decode, const Machine &machine);
void add_passes(Halide::Pipeline pipeline, const dsl::SimtAttention &attention, const Machine &machine);
void add_passes(Halide::Pipeline pipeline, const dsl::Softmax &softmax, const Machine &machine);
void add_passes(Halide::Pipeline pipeline, const dsl::Linear &linear, const Machine &machine);

/** The same; `x`: the name of the buffer that rows are read from. */
void add_passes(Halide::Pipeline pipeline, const dsl::Norm &norm, const std::string &x, const Machine &machine);
void add_passes(Halide::Pipeline pipeline, const dsl::Rotary &rotary, const std::string &x, const Machine &machine);

} // namespace attune::schedules
