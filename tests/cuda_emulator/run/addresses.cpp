// From the addresses of a warp's lanes to places in this process, with the checks that a device would make, and more.
#include <algorithm>

#include "block.h"
#include "decode.h"

namespace attune::emulator {

static std::string hexadecimal(uint64_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

static Error outside(const char *what, uint64_t address, uint32_t bytes, uint64_t begin, uint64_t end, uint32_t lane) {
    return Error(Status::illegal_address, std::to_string(bytes) + " bytes at " + hexadecimal(address) + " by lane " + std::to_string(lane) +
                                              " lie outside " + what + ", " + hexadecimal(begin) + " to " + hexadecimal(end));
}

/** Addresses by lane; lanes that don't take part repeat another's. */
void Block::gather(Warp &w, const Instruction &x, uint32_t row, uint64_t *at) const {
    const auto offset = static_cast<uint64_t>(x.immediate);
    if (x.wide_address) {
        const uint64_t *base = w.row<uint64_t>(x.rows[row]);
        for (uint32_t lane = 0; lane < warp_size; ++lane)
            at[lane] = base[lane] + offset;
    } else {
        const uint32_t *base = w.row<uint32_t>(x.rows[row]);
        for (uint32_t lane = 0; lane < warp_size; ++lane)
            at[lane] = base[lane] + offset;
    }
    if (w.exec == all_lanes) return;
    const uint64_t first = at[__builtin_ctz(w.exec)];
    for (uint32_t lane = 0; lane < warp_size; ++lane)
        at[lane] = (w.exec >> lane & 1) != 0 ? at[lane] : first;
}

static void check_alignment(const uint64_t *at, uint32_t bytes) {
    uint64_t any = 0;
    for (uint32_t lane = 0; lane < warp_size; ++lane)
        any |= at[lane];
    if ((any & (bytes - 1)) == 0) return;
    for (uint32_t lane = 0; lane < warp_size; ++lane) {
        if ((at[lane] & (bytes - 1)) == 0) continue;
        throw Error(Status::misaligned_address, "address " + hexadecimal(at[lane]) + " of lane " + std::to_string(lane) +
                                                    " is no multiple of " + std::to_string(bytes));
    }
}

void Block::resolve(Warp &w, const Instruction &x, uint32_t row, uint32_t bytes, uint32_t alignment, Access access, Places &places) {
    uint64_t at[warp_size];
    gather(w, x, row, at);
    check_alignment(at, alignment);
    Space space = x.space;
    if (x.generic) {
        const uint64_t window = at[0] & window_mask;
        space = space_of(at[0]);
        for (uint64_t &address : at) {
            if ((address & window_mask) != window) throw launch_error("the emulator knows only generic addresses of one space in a warp");
            address -= space == Space::global ? 0 : window;
        }
    }
    if (space == Space::shared) {
        resolve_shared(w, at, bytes, access, places);
    } else if (space == Space::local) {
        resolve_local(w, at, bytes, places);
    } else {
        resolve_global(w, at, bytes, places);
    }
}

void Block::resolve_global(const Warp &w, const uint64_t *at, uint32_t bytes, Places &places) {
    uint64_t low = at[0], high = at[0];
    for (uint32_t lane = 0; lane < warp_size; ++lane) {
        low = std::min(low, at[lane]);
        high = std::max(high, at[lane]);
        places.at[lane] = reinterpret_cast<uint8_t *>(at[lane]);
    }
    if (low >= last.begin && high < last.end && last.end - high >= bytes) return;
    for (uint32_t lane = 0; lane < warp_size; ++lane) {
        const Allocation *found = find_allocation(*launch.memory, at[lane]);
        if (found == nullptr || found->end - at[lane] < bytes) {
            const uint32_t culprit = (w.exec >> lane & 1) != 0 ? lane : static_cast<uint32_t>(__builtin_ctz(w.exec));
            throw Error(Status::illegal_address, std::to_string(bytes) + " bytes at " + hexadecimal(at[lane]) + " by lane " +
                                                     std::to_string(culprit) +
                                                     (found ? " go past the end of an allocation, " + hexadecimal(found->end)
                                                            : std::string(" lie in no allocation of the device")));
        }
        last = *found;
    }
}

void Block::resolve_shared(const Warp &w, const uint64_t *at, uint32_t bytes, Access access, Places &places) {
    const uint64_t end = shared_start + shared.size();
    uint64_t low = at[0], high = at[0];
    for (uint32_t lane = 0; lane < warp_size; ++lane) {
        low = std::min(low, at[lane]);
        high = std::max(high, at[lane]);
    }
    if (low < shared_start || high >= end || end - high < bytes) {
        for (uint32_t lane = 0; lane < warp_size; ++lane) {
            if (at[lane] < shared_start || at[lane] >= end || end - at[lane] < bytes) {
                throw outside("shared memory", at[lane], bytes, shared_start, end, lane);
            }
        }
    }
    for (uint32_t lane = 0; lane < warp_size; ++lane)
        places.at[lane] = shared.data() + (at[lane] - shared_start);
    if (!races && !proxies) return;
    const int line = line_of(w);
    for (uint32_t lane = 0; lane < warp_size; ++lane) {
        if ((w.exec >> lane & 1) != 0) note_shared(w, line, places.at[lane], bytes, access);
    }
}

void Block::resolve_local(const Warp &w, const uint64_t *at, uint32_t bytes, Places &places) {
    for (uint32_t lane = 0; lane < warp_size; ++lane) {
        if (at[lane] >= program.local_bytes || program.local_bytes - at[lane] < bytes) {
            throw outside("local memory", at[lane], bytes, 0, program.local_bytes, lane);
        }
        places.at[lane] = local.data() + (static_cast<uint64_t>(w.index) * warp_size + lane) * program.local_bytes + at[lane];
    }
}

void Block::note_shared(const Warp &w, const uint8_t *at, uint32_t bytes, Access access) { note_shared(w, line_of(w), at, bytes, access); }

void Block::note_shared(const Warp &w, int line, const uint8_t *at, uint32_t bytes, Access access) {
    const auto offset = static_cast<uint64_t>(at - shared.data());
    if (races) races->access(w.index, line, offset, bytes, access);
    if (proxies && access != Access::read) proxies->write(w.index, line, offset, bytes);
}

const uint8_t *Block::read_by_proxy(const Warp &w, uint64_t address) {
    const uint64_t end = shared_start + shared.size(), offset = address - shared_start;
    if (address < shared_start || address >= end || end - address < 16) throw outside("shared memory", address, 16, shared_start, end, 0);
    if (races) races->access(w.index, line_of(w), offset, 16, Access::read);
    proxies->read(w.index, offset, 16);
    return shared.data() + offset;
}

void Block::fence_proxy(const Warp &w) {
    if (proxies) proxies->fence(w.index);
}

void Block::issue_product(Warp &w, const Instruction &x, uint64_t a, uint64_t b) {
    if (warps.size() % 4 != 0) throw launch_error("the block has " + std::to_string(warps.size()) + " warps, no multiple of 4");
    warpgroups->issue(w.index, w.products.issued++, x, a, b);
}

} // namespace attune::emulator
