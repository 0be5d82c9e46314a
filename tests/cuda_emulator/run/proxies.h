// Looks for shared memory that wgmma reads before what was written there is fenced: wgmma reads by the asynchronous proxy, and what threads
// write, cp.async among it, is there for it only after a fence.proxy.async, of the writer after the write or of the reader before it reads.
#pragma once

#include <cstdint>
#include <vector>

namespace attune::emulator {

class ProxyCheck {
public:
    ProxyCheck(uint64_t bytes, uint32_t warps) : pieces((bytes + piece - 1) / piece), fences(warps) {}

    void write(uint32_t warp, int line, uint64_t offset, uint32_t bytes);
    void fence(uint32_t warp) { fences[warp] = ++now; }
    /** Throws launch_error, with the line that wrote. */
    void read(uint32_t warp, uint64_t offset, uint32_t bytes) const;

private:
    static constexpr uint32_t piece = 16; // bytes
    struct Piece {
        uint64_t written = 0; // 0: never
        uint32_t warp = 0;
        int line = 0;
    };
    std::vector<Piece> pieces;
    std::vector<uint64_t> fences; // by warp: the last
    uint64_t now = 0;
};

} // namespace attune::emulator
