// Products of wgmma under way, and what the warps of a warpgroup must have in common.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace attune::emulator {

struct Instruction;

/** One product, multiplied when it was issued. Its sums appear, and what it read is looked at again, when its group is waited for. */
struct GroupProduct {
    const Instruction *instruction;
    uint64_t a, b;                         // descriptors; a: 0 where it is in registers
    std::vector<float> matrix_a, matrix_b; // that were read
};

/** The sums that a register will hold. Until then it holds NaN. */
struct PendingSums {
    std::array<float, 32> lanes;
    uint32_t products = 0; // that add to them, and aren't waited for
};

/** Those of a warp. */
struct GroupProducts {
    bool fenced = false; // by wgmma.fence, since the last wait
    uint64_t issued = 0;
    std::vector<GroupProduct> open;
    std::deque<std::vector<GroupProduct>> groups;
    std::unordered_map<uint32_t, PendingSums> sums; // by row
};

/** Sees to it that the four warps of a warpgroup issue the same products, of the same matrices. */
class WarpgroupCheck {
public:
    explicit WarpgroupCheck(uint32_t warps) : groups((warps + 3) / 4) {}

    /** Warp `warp` issues its product number `nth`. Throws launch_error. */
    void issue(uint32_t warp, uint64_t nth, const Instruction &instruction, uint64_t a, uint64_t b);

private:
    struct Issued {
        const Instruction *instruction;
        uint64_t a, b;
        uint32_t warps; // that issued it
    };
    struct Group {
        uint64_t first = 0; // number of the first in `issued`
        std::deque<Issued> issued;
    };
    std::vector<Group> groups;
};

} // namespace attune::emulator
