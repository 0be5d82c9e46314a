#include "array.h"

#include <algorithm>
#include <new>

#include <fmt/ranges.h>

#include "error.h"

namespace attune::tools {

int64_t element_count(const Shape &shape, const std::string &subject) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    int64_t count = 1, bytes = 0;
    for (int64_t extent : shape)
        // 8 bytes is the widest element: a count that passes fits in bytes as well.
        if (__builtin_mul_overflow(count, extent, &count) || __builtin_mul_overflow(count, int64_t{8}, &bytes))
            bad_argument("{} has shape {}; its size must stay below 2^63 bytes", subject, shape_text(shape));
    return count;
}

std::string shape_text(const Shape &shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

Array make_array(attune_type type, Shape shape, const std::string &subject) {
    Array array;
    array.type = type;
    array.bytes = element_count(shape, subject) * element_bytes(type);
    array.shape = std::move(shape);
    constexpr std::size_t alignment = 64; // a cache line, and the widest vector
    const std::size_t size = (static_cast<std::size_t>(array.bytes) / alignment + 1) * alignment;
    array.data.reset(static_cast<unsigned char *>(std::aligned_alloc(alignment, size)));
    if (!array.data) failure("out of memory: {}, {}, takes {} bytes", subject, shape_text(array.shape), array.bytes);
    return array;
}

int64_t integer_at(const Array &array, int64_t index) {
    return array.type == ATTUNE_I64 ? array.as<int64_t>()[index] : array.as<int32_t>()[index];
}

TensorView view(const Array &array, int rank) {
    Shape shape(static_cast<std::size_t>(rank) - array.shape.size(), 1);
    shape.insert(shape.end(), array.shape.begin(), array.shape.end());
    return attune_contiguous(array.data.get(), array.type, rank, shape.data());
}

TensorView view(const Array &array) { return view(array, static_cast<int>(array.shape.size())); }

} // namespace attune::tools
