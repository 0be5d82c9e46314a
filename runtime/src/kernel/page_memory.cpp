#include "runtime/src/kernel/page_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <utility>

namespace attune::runtime {

namespace {

constexpr size_t huge_page = size_t{1} << 21;

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

} // namespace

PageMemory::~PageMemory() {
    if (mapping_) munmap(mapping_, mapped_);
}

PageMemory::PageMemory(PageMemory &&other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)), mapped_(std::exchange(other.mapped_, 0)),
      data_(std::exchange(other.data_, nullptr)) {}

bool PageMemory::allocate(size_t bytes) {
    if (bytes > SIZE_MAX / 2) return false;
    const bool huge = bytes >= huge_page;
    const size_t size = huge ? round_up(bytes, huge_page) + huge_page : bytes > 0 ? bytes : 1;
    void *mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return false;
    mapping_ = mapping, mapped_ = size;
    const auto address = reinterpret_cast<uintptr_t>(mapping);
    data_ = static_cast<char *>(mapping) + (huge ? round_up(address, huge_page) - address : 0);
    if (huge) madvise(data_, round_up(bytes, huge_page), MADV_HUGEPAGE); // a wish: it may be refused
    return true;
}

} // namespace attune::runtime
