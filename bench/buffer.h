// Large arrays of floats for timing.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include <sys/mman.h>

namespace attune::bench {

struct FreeBuffer {
    void operator()(float *memory) const { std::free(memory); }
};
using Buffer = std::unique_ptr<float, FreeBuffer>;

/** Memory for `count` floats, not initialised, in huge pages where the system gives them, as NumPy asks for too. Throws
 * std::bad_alloc. */
inline Buffer make_buffer(int64_t count) {
    constexpr std::size_t huge_page = std::size_t{2} << 20, line = 64;
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
    const std::size_t alignment = bytes >= huge_page ? huge_page : line;
    const std::size_t size = (bytes / alignment + 1) * alignment;
    Buffer buffer(static_cast<float *>(std::aligned_alloc(alignment, size)));
    if (!buffer) throw std::bad_alloc();
    if (alignment == huge_page) madvise(buffer.get(), size, MADV_HUGEPAGE); // a wish: without it only the speed differs
    return buffer;
}

} // namespace attune::bench
