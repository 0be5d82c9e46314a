// Memory for what is large and read at the speed of memory: packed weights, a cache of keys and values.
#pragma once

#include <cstddef>

namespace attune::runtime {

/** Zeros in pages of their own, at a multiple of 64 bytes. Those never written cost no more than addresses. From 2 MiB on they are huge
 * pages, where the system gives such: otherwise many pages have to be looked up, and what comes next is asked for no further than to a
 * page's end (measured on Zen 4: a decoder reads its weights at 28 GB/s, and at 18 in small pages). Memory of malloc() may lie in small
 * pages whatever is asked of the system, where something was that has been freed. */
class PageMemory {
public:
    PageMemory() = default;
    ~PageMemory();
    PageMemory(PageMemory &&other) noexcept;
    PageMemory &operator=(PageMemory &&) = delete;

    /** Once; false where there is no memory. */
    bool allocate(size_t bytes);
    char *data() const { return data_; }

private:
    void *mapping_ = nullptr;
    size_t mapped_ = 0;
    char *data_ = nullptr;
};

} // namespace attune::runtime
