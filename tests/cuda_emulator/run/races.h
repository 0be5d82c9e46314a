// Looks for data races on shared memory between the warps of a block.
//
// Every warp has a clock for each warp: how much of that warp's work is known to lie before its own present. Barriers join the clocks.
// Each word of shared memory remembers its last writer and two readers; an access that does not lie after them is a race.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../error.h"

namespace attune::emulator {

enum class Access : uint8_t { read, write, atomic };

class RaceCheck {
public:
    static constexpr uint32_t max_warps = 32;
    using Clock = std::array<uint32_t, max_warps>;

    RaceCheck(size_t bytes, uint32_t warps);
    /** A block begins, the first or another: all that came before lies before all of it. */
    void begin_block();
    /** Throws launch_error that names the other instruction's `line`. */
    void access(uint32_t warp, int line, uint64_t offset, uint32_t bytes, Access access);
    /** `arrived` (a bit a warp) came to a barrier, and of them `waited` go on after it. */
    void barrier(uint32_t arrived, uint32_t waited);

private:
    struct Mark {
        uint32_t time = 0; // 0: none, which lies before everything
        uint8_t warp = 0;
        bool atomic = false;
        int line = 0;
    };
    struct Word {
        Mark writer, readers[2];
    };
    std::vector<Word> words;
    std::vector<Clock> clocks;

    bool is_before(const Mark &mark, uint32_t warp) const { return mark.time <= clocks[warp][mark.warp]; }
    static Error race(const Mark &mark, uint64_t offset, const char *what);
};

} // namespace attune::emulator
