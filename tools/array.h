// A C-order array that owns its memory: what .npy files are read into and written from.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "attune/attune.hpp"

namespace attune::tools {

using Shape = std::vector<int64_t>;

/** Product of the extents; 1 for rank 0. `subject` names the array in the error when it passes 2^63 - 1 bytes. */
int64_t element_count(const Shape &shape, const std::string &subject);

/** "[2, 3]", as error messages show a shape. */
std::string shape_text(const Shape &shape);

/** Bytes of one element. */
inline int64_t element_bytes(attune_type type) { return static_cast<int64_t>(attune_type_size(type)); }

struct FreeMemory {
    void operator()(void *memory) const { std::free(memory); }
};

struct Array {
    attune_type type = ATTUNE_F32;
    Shape shape;
    std::unique_ptr<unsigned char, FreeMemory> data; // 64-byte aligned, never null once made, even with no elements
    int64_t bytes = 0;

    template <typename T> T *as() const { return reinterpret_cast<T *>(data.get()); }
};

/** Memory for an array, not initialised. Throws CommandError naming `subject` if there isn't as much, or the size overflows. */
Array make_array(attune_type type, Shape shape, const std::string &subject);

/** Element `index` of an array of 32- or 64-bit integers. */
int64_t integer_at(const Array &array, int64_t index);

/** A view of `array` with leading axes of extent 1 added up to `rank`. */
TensorView view(const Array &array, int rank);

/** A view of `array` with the rank it has. */
TensorView view(const Array &array);

} // namespace attune::tools
