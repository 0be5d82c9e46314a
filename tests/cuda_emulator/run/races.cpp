#include "races.h"

#include <algorithm>
#include <string>

#include "../error.h"

namespace attune::emulator {

RaceCheck::RaceCheck(size_t bytes, uint32_t warps) : words((bytes + 3) / 4), clocks(warps) {
    for (uint32_t warp = 0; warp < warps; ++warp) {
        clocks[warp].fill(0);
        clocks[warp][warp] = 1;
    }
}

void RaceCheck::check(const Mark &mark, uint32_t warp, uint64_t offset, const char *what) const {
    if (mark.time == 0 || mark.warp == warp || is_before(mark, warp)) return;
    throw launch_error("a race: warp " + std::to_string(mark.warp) + " " + what + " byte " + std::to_string(offset) +
                       " of shared memory at PTX line " + std::to_string(mark.line) + ", with no barrier between it and this");
}

void RaceCheck::note_reader(Word &word, const Mark &mark) const {
    Mark &first = word.readers[0], &second = word.readers[1];
    if (first.time == 0 || first.warp == mark.warp || is_before(first, mark.warp)) {
        first = mark;
    } else {
        second = mark;
    }
}

void RaceCheck::access(uint32_t warp, int line, uint64_t offset, uint32_t bytes, Access access) {
    const Mark mark{clocks[warp][warp], static_cast<uint8_t>(warp), access == Access::atomic, line};
    for (uint64_t at = offset / 4; at <= (offset + bytes - 1) / 4; ++at) {
        Word &word = words[at];
        if (!(mark.atomic && word.writer.atomic)) check(word.writer, warp, at * 4, "wrote");
        if (access == Access::read) {
            note_reader(word, mark);
            continue;
        }
        for (const Mark &reader : word.readers)
            check(reader, warp, at * 4, "read");
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
