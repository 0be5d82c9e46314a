// Schedules of softmax that hold rows in registers.
#pragma once

#include <string>
#include <vector>

#include "dsl/held_softmax.h"

namespace attune::schedules::cuda {

/** With as many of them one block computes while another waits for memory, and each has 64 registers, half of them for elements. */
constexpr int held_threads_per_multiprocessor = 1024;

/** The ways of sharing a row that a schedule of softmax has for elements of a type, those for the shortest rows first; and first those by
 * vectors of 16 bytes. */
std::vector<dsl::RowShare> held_shares(const std::string &schedule, const Halide::Type &type);

/** How threads go through a row that isn't held, in vectors or element by element. */
dsl::RowShare online_share(const std::string &schedule, const Halide::Type &type, bool whole_vectors);

/** Schedules `softmax`, which `stage` of `result` takes its values from. */
void hold(const dsl::HeldSoftmax &softmax, Halide::Func result, Halide::Stage stage);
void go_through(const dsl::OnlineSoftmax &softmax, Halide::Func result, Halide::Stage stage);

} // namespace attune::schedules::cuda
