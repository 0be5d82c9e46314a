// Memory for what passes between layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>

#include <attune/attune.hpp>

namespace gpt {

/** Numbers of one type, f32 or bf16, that grow as they are needed. */
class Buffer {
public:
    explicit Buffer(attune_type type = ATTUNE_F32) : type_(type) {}

    attune_type type() const { return type_; }

    /** The memory as a contiguous tensor of these extents. What it held is lost where it must grow, and views of it end. */
    attune::TensorView view(std::initializer_list<int64_t> extents) {
        size_t bytes = attune_type_size(type_);
        for (int64_t extent : extents)
            bytes *= static_cast<size_t>(extent);
        if (bytes > size_) data_.reset(new std::byte[bytes]), size_ = bytes;
        return attune_contiguous(data_.get(), type_, static_cast<int32_t>(extents.size()), extents.begin());
    }

private:
    attune_type type_;
    std::unique_ptr<std::byte[]> data_;
    size_t size_ = 0;
};

/** Elements of `tensor` from element `first` on, with extents and strides of their own. */
inline attune::TensorView part_of(const attune_tensor &tensor, int64_t first, std::initializer_list<int64_t> extents,
                                  std::initializer_list<int64_t> strides) {
    char *data = static_cast<char *>(tensor.data) + first * static_cast<int64_t>(attune_type_size(tensor.type));
    attune::TensorView part = attune_contiguous(data, tensor.type, static_cast<int32_t>(extents.size()), extents.begin());
    int axis = 0;
    for (int64_t stride : strides)
        part.stride[axis++] = stride;
    return part;
}

} // namespace gpt
