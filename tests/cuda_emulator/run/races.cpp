#include "races.h"

#include <algorithm>
#include <string>

namespace attune::emulator {

RaceCheck::RaceCheck(size_t bytes, uint32_t warps) : words((bytes + 3) / 4), clocks(warps) {}

// To forget the marks would take longer than many a block does.
void RaceCheck::begin_block() {
    uint32_t latest = 0;
    for (uint32_t warp = 0; warp < clocks.size(); ++warp)
        latest = std::max(latest, clocks[warp][warp]);
    for (uint32_t warp = 0; warp < clocks.size(); ++warp) {
        clocks[warp].fill(latest);
        clocks[warp][warp] = latest + 1;
    }
}

Error RaceCheck::race(const Mark &mark, uint64_t offset, const char *what) {
    return launch_error("a race: warp " + std::to_string(mark.warp) + " " + what + " byte " + std::to_string(offset) +
                        " of shared memory at PTX line " + std::to_string(mark.line) + ", with no barrier between it and this");
}

void RaceCheck::access(uint32_t warp, int line, uint64_t offset, uint32_t bytes, Access access) {
    const Mark mark{clocks[warp][warp], static_cast<uint8_t>(warp), access == Access::atomic, line};
    for (uint64_t at = offset / 4; at <= (offset + bytes - 1) / 4; ++at) {
        Word &word = words[at];
        if (!(mark.atomic && word.writer.atomic) && !is_before(word.writer, warp)) throw race(word.writer, at * 4, "wrote");
        if (access == Access::read) {
            word.readers[is_before(word.readers[0], warp) ? 0 : 1] = mark;
            continue;
        }
        for (const Mark &reader : word.readers)
            if (!is_before(reader, warp)) throw race(reader, at * 4, "read");
        word.writer = mark;
    }
}

void RaceCheck::barrier(uint32_t arrived, uint32_t waited) {
    Clock joined{};
    for (uint32_t warp = 0; warp < clocks.size(); ++warp) {
        if ((arrived >> warp & 1) == 0) continue;
        for (uint32_t other = 0; other < clocks.size(); ++other)
            joined[other] = std::max(joined[other], clocks[warp][other]);
    }
    for (uint32_t warp = 0; warp < clocks.size(); ++warp) {
        if ((waited >> warp & 1) != 0) clocks[warp] = joined;
        if ((arrived >> warp & 1) != 0) clocks[warp][warp] = joined[warp] + 1;
    }
}

} // namespace attune::emulator
