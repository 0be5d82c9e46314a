// Tensors of rank 4 or less whose element type is settled at run time, for caches: read and written as numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "attune/attune.h"
#include "tensor.h"

namespace attune::test {

/** Memory of f32, f16, bf16 or i8. Every byte starts as 0xff: a NaN of the floating-point types, and -1 of i8. */
class TypedTensor {
public:
    TypedTensor() = default;
    /** `order`: axes from slowest to fastest; empty: as written. */
    TypedTensor(attune_type type, Extents extents, const std::vector<int> &order = {});
    /** The same numbers, rounded to the type. */
    TypedTensor(attune_type type, const Tensor<float> &values);

    attune_type type() const { return type_; }
    const Extents &extents() const { return strides_.extent; }
    attune_tensor view() const;
    double get(const Extents &index) const;
    void set(const Extents &index, double value);
    /** Whether every byte of the element is as it was at first. */
    bool untouched(const Extents &index) const;
    /** All elements in C order. */
    std::vector<double> values() const;
    const std::vector<uint8_t> &bytes() const { return bytes_; }

private:
    size_t offset(const Extents &index) const;

    attune_type type_ = ATTUNE_F32;
    Tensor<uint8_t> strides_; // only its extents and strides
    std::vector<uint8_t> bytes_;
};

/** Calls visit(index) for every element in C order. */
template <typename Visit> void for_each_index(const Extents &extents, const Visit &visit) {
    Extents index(extents.size(), 0);
    for (const int64_t extent : extents)
        if (extent == 0) return;
    for (;;) {
        visit(index);
        size_t axis = extents.size();
        while (axis > 0 && ++index[axis - 1] == extents[axis - 1])
            index[--axis] = 0;
        if (axis == 0) return;
    }
}

} // namespace attune::test
