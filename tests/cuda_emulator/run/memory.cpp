#include "memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace attune::emulator {

DeviceMemory::~DeviceMemory() {
    for (const auto &[address, bytes] : allocations)
        std::free(reinterpret_cast<void *>(address));
}

uint64_t DeviceMemory::allocate(size_t bytes) {
    constexpr size_t alignment = 256;
    if (bytes == 0 || bytes > SIZE_MAX / 2) return 0;
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void *memory = std::aligned_alloc(alignment, rounded);
    if (memory == nullptr) return 0;
    std::memset(memory, 0xff, rounded);
    const std::lock_guard<std::mutex> lock(mutex);
    allocations[reinterpret_cast<uint64_t>(memory)] = bytes;
    present.reset();
    return reinterpret_cast<uint64_t>(memory);
}

bool DeviceMemory::release(uint64_t address) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (allocations.erase(address) == 0) return false;
    present.reset();
    std::free(reinterpret_cast<void *>(address));
    return true;
}

std::shared_ptr<const AllocationTable> DeviceMemory::table() const {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!present) {
        auto fresh = std::make_shared<AllocationTable>();
        for (const auto &[address, bytes] : allocations)
            fresh->push_back({address, address + bytes});
        present = std::move(fresh);
    }
    return present;
}

bool DeviceMemory::find(uint64_t address, size_t bytes, Allocation &allocation) const {
    const auto now = table();
    const Allocation *found = find_allocation(*now, address);
    if (found == nullptr || bytes > found->end - address) return false;
    allocation = *found;
    return true;
}

size_t DeviceMemory::used() const {
    const std::lock_guard<std::mutex> lock(mutex);
    size_t sum = 0;
    for (const auto &[address, bytes] : allocations)
        sum += bytes;
    return sum;
}

const Allocation *find_allocation(const AllocationTable &table, uint64_t address) {
    const auto after = std::upper_bound(table.begin(), table.end(), address, [](uint64_t a, const Allocation &b) { return a < b.begin; });
    if (after == table.begin() || address >= (after - 1)->end) return nullptr;
    return &*(after - 1);
}

} // namespace attune::emulator
