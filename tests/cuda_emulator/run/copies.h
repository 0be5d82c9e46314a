// Asynchronous copies from global to shared memory: cp.async and its groups.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace attune::emulator {

/** One copy under way. Its bytes arrive when its group is waited for; until then the destination holds NaN. */
struct Copy {
    uint8_t *to;         // in shared memory
    const uint8_t *from; // null where nothing is read
    uint32_t bytes;      // written
    uint32_t read;       // the rest is filled with zeros
};

/** Those of a warp. Groups are the whole warp's, as divergent commits and waits are refused. */
struct AsyncCopies {
    std::vector<Copy> open;
    std::deque<std::vector<Copy>> groups;
};

} // namespace attune::emulator
