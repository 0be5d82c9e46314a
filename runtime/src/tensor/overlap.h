// Which bytes strided tensors touch, and whether two of them, or one with itself, can share any.
#pragma once

#include <array>
#include <initializer_list>

#include "attune/attune.h"
#include "runtime/src/status.h"

namespace attune::runtime {

/** True if every byte the tensor touches has an address, and none is 2^62 or more from its data. */
bool in_address_space(const attune_tensor &tensor);

/** False only if no two elements share a byte. Sure for strides that are nested (each at least the span of the smaller ones); others count
 *  as overlapping. */
bool overlaps_itself(const attune_tensor &tensor);

/** False only if the two share no byte: one of them is empty, their spans are apart, or their strides keep them apart, as slices of one
 *  packed [batch, tokens, 3, heads, dim] are. */
bool may_overlap(const attune_tensor &a, const attune_tensor &b);

/** A tensor of a call, by its argument's name; nullptr where it isn't given. */
struct NamedTensor {
    const attune_tensor *tensor;
    const char *name;
};

/** Those of one call that are given. */
class NamedTensors {
public:
    NamedTensors(std::initializer_list<NamedTensor> all) {
        for (const NamedTensor &one : all)
            add(one);
    }
    void add(const NamedTensor &one) {
        if (one.tensor) tensors_.at(count_++) = one;
    }
    void add(const NamedTensors &others) {
        for (const NamedTensor &one : others)
            add(one);
    }
    const NamedTensor *begin() const { return tensors_.data(); }
    const NamedTensor *end() const { return tensors_.data() + count_; }

private:
    std::array<NamedTensor, 24> tensors_ = {}; // more than any call has
    size_t count_ = 0;
};

/** An error unless the output shares no byte with the other, which may be NULL. */
Status check_apart(const NamedTensor &output, const NamedTensor &other);

/** Unless it does, or takes the other's place: the same elements in the same order. */
Status check_place(const NamedTensor &output, const NamedTensor &other);

/** Unless each output is apart from all inputs, and from the other outputs. */
Status check_apart(const NamedTensors &outputs, const NamedTensors &inputs);

/** The same elements in the same order. */
bool same_view(const attune_tensor &a, const attune_tensor &b);

} // namespace attune::runtime
