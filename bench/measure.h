// Timing schedules against each other on one case.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attune/attune.hpp"
#include "bench/cases.h"

namespace attune::bench {

struct Settings {
    std::vector<std::string> schedules; // an empty one: Attune's choice
    int32_t threads = 1;
    double seconds = 0.5;                        // of timing for each schedule
    int64_t turns = 3;                           // that each schedule gets at least
    std::function<void(double fraction)> report; // called as the timing goes on; may be empty
};

/** One schedule's result on a case. */
struct Measurement {
    std::string schedule;    // that ran
    double seconds = 0;      // of the fastest call
    double max_error = 0;    // against float64, relative to max |v|
    int64_t workspace_bytes; // the most scratch memory a call held
};

struct CaseResult {
    std::vector<Measurement> schedules;
    int64_t copies = 1;  // of the tensors, timed in turn
    bool capped = false; // fewer than wanted
};

/** Calls round(i) for each of `contenders` in turn until settings.seconds have passed for each, and at least settings.turns times: one call
 * alone may have met a neighbour. A turn is as long as the longest call of all, so that a quick contender is called more often. Errors: the
 * first of a round. */
Status take_turns(const Settings &settings, std::size_t contenders, const std::function<Status(std::size_t)> &round);

/** Calls run(copy) for each of the copies; keeps the seconds of one if they are the fewest so far. Errors: the first. */
Status time_round(int64_t copies, double &fastest, const std::function<Status(int64_t copy)> &run);

/** What measure() would answer at once: what the library says of the schedules and the masks, and whether the tensors fit. */
Status check(const std::vector<Case> &cases, const Settings &settings);

/** Times calls of each schedule on each case in turn, for settings.seconds a schedule and case, and keeps each one's fastest: of several
 * cases, for shares of one another, whatever the machine does meanwhile. A round over several copies of a case's tensors is timed as a
 * whole and divided by their number. One result a case. Errors: what the library says of a schedule, mask or shape; ATTUNE_OUT_OF_MEMORY
 * where the tensors don't fit. */
Result<std::vector<CaseResult>> measure(const std::vector<Case> &cases, const Settings &settings);

} // namespace attune::bench
