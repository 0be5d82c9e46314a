#include "typed_tensor.h"

#include <algorithm>
#include <cstring>

#include "half.h"

namespace attune::test {

TypedTensor::TypedTensor(attune_type type, Extents extents, const std::vector<int> &order)
    : type_(type), strides_(std::move(extents), Layout{order, 0}), bytes_(strides_.memory->size() * attune_type_size(type), 0xff) {}

TypedTensor::TypedTensor(attune_type type, const Tensor<float> &values) : TypedTensor(type, values.extent) {
    const std::vector<float> all = values.values();
    size_t next = 0;
    for_each_index(extents(), [&](const Extents &index) { set(index, static_cast<double>(all[next++])); });
}

attune_tensor TypedTensor::view() const {
    attune_tensor v = strides_.view();
    v.type = type_;
    v.data = const_cast<uint8_t *>(bytes_.data()) + static_cast<size_t>(strides_.first) * attune_type_size(type_);
    return v;
}

size_t TypedTensor::offset(const Extents &index) const {
    int64_t place = strides_.first;
    for (size_t axis = 0; axis < index.size(); axis++)
        place += index[axis] * strides_.stride[axis];
    return static_cast<size_t>(place) * attune_type_size(type_);
}

double TypedTensor::get(const Extents &index) const {
    const uint8_t *at = bytes_.data() + offset(index);
    if (type_ == ATTUNE_I8) return static_cast<int8_t>(*at);
    if (type_ == ATTUNE_F32) {
        float value = 0;
        std::memcpy(&value, at, sizeof value);
        return value;
    }
    uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    return half_value(type_, bits);
}

void TypedTensor::set(const Extents &index, double value) {
    uint8_t *at = bytes_.data() + offset(index);
    const auto number = static_cast<float>(value);
    const uint16_t bits = type_ == ATTUNE_F16 || type_ == ATTUNE_BF16 ? half_bits(type_, number) : 0;
    if (type_ == ATTUNE_F32) std::memcpy(at, &number, sizeof number);
    if (type_ == ATTUNE_I8) *at = static_cast<uint8_t>(static_cast<int8_t>(value));
    if (attune_type_size(type_) == 2) std::memcpy(at, &bits, sizeof bits);
}

bool TypedTensor::untouched(const Extents &index) const {
    const uint8_t *at = bytes_.data() + offset(index);
    return std::all_of(at, at + attune_type_size(type_), [](uint8_t byte) { return byte == 0xff; });
}

std::vector<double> TypedTensor::values() const {
    std::vector<double> all;
    for_each_index(extents(), [&](const Extents &index) { all.push_back(get(index)); });
    return all;
}

} // namespace attune::test
