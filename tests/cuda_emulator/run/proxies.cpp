#include "proxies.h"

#include <algorithm>

#include "../error.h"

namespace attune::emulator {

void ProxyCheck::write(uint32_t warp, int line, uint64_t offset, uint32_t bytes) {
    ++now;
    for (uint64_t at = offset / piece; at <= (offset + bytes - 1) / piece; ++at)
        pieces[at] = {now, warp, line};
}

void ProxyCheck::read(uint32_t warp, uint64_t offset, uint32_t bytes) const {
    for (uint64_t at = offset / piece; at <= (offset + bytes - 1) / piece; ++at) {
        const Piece &last = pieces[at];
        if (last.written == 0 || std::max(fences[warp], fences[last.warp]) > last.written) continue;
        throw launch_error("wgmma reads byte " + std::to_string(offset) + " of shared memory, which warp " + std::to_string(last.warp) +
                           " wrote at PTX line " + std::to_string(last.line) + ", with no fence.proxy.async since");
    }
}

} // namespace attune::emulator
