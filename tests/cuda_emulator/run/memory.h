// The device's memory as a table of allocations, and the windows of generic addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "../ptx/module.h"

namespace attune::emulator {

// Where generic addresses of shared and local memory lie: beyond what a process may map.
inline constexpr uint64_t shared_window = 1ull << 60, local_window = 2ull << 60, window_mask = ~0ull << 60;

inline Space space_of(uint64_t generic) {
    const uint64_t window = generic & window_mask;
    return window == shared_window ? Space::shared : window == local_window ? Space::local : Space::global;
}

/** A piece of the device's memory; kernels may touch nothing else. */
struct Allocation {
    uint64_t begin, end;
};

/** Sorted by address. */
using AllocationTable = std::vector<Allocation>;

/** Hands out device memory: memory of the process, but aligned and filled with 0xff, which is NaN in every type. */
class DeviceMemory {
public:
    ~DeviceMemory();
    /** 0 where there is no more. */
    uint64_t allocate(size_t bytes);
    bool release(uint64_t address);
    /** What is there now. A kernel keeps the table that it started with. */
    std::shared_ptr<const AllocationTable> table() const;
    /** The allocation that holds all of these bytes, or false. */
    bool find(uint64_t address, size_t bytes, Allocation &allocation) const;
    size_t used() const;

private:
    mutable std::mutex mutex;
    std::map<uint64_t, size_t> allocations;
    mutable std::shared_ptr<const AllocationTable> present; // null after a change
};

/** The entry of the table that holds an address, or null. */
const Allocation *find_allocation(const AllocationTable &table, uint64_t address);

} // namespace attune::emulator
