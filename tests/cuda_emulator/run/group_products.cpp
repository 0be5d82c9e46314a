#include "group_products.h"

#include "../error.h"

namespace attune::emulator {

void WarpgroupCheck::issue(uint32_t warp, uint64_t nth, const Instruction &instruction, uint64_t a, uint64_t b) {
    Group &group = groups[warp / 4];
    if (nth == group.first + group.issued.size()) group.issued.push_back({&instruction, a, b, 0});
    Issued &same = group.issued[nth - group.first];
    if (same.instruction != &instruction) throw launch_error("the warps of a warpgroup come to different wgmma");
    if (same.a != a || same.b != b) throw launch_error("a matrix descriptor differs within the warpgroup");
    ++same.warps;
    while (!group.issued.empty() && group.issued.front().warps == 4) {
        group.issued.pop_front();
        ++group.first;
    }
}

} // namespace attune::emulator
