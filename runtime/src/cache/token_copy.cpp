#include "runtime/src/cache/token_copy.h"

#include <cstring>

#include "runtime/src/tensor/joined_axes.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

/** The elements from a tensor's first to that of a place. */
int64_t element_of(const attune_tensor &tensor, const TokenPlace &place, int32_t axis) {
    return effective_stride(tensor, 0) * place.item + effective_stride(tensor, axis) * place.token;
}

} // namespace

void copy_tokens(const attune_tensor &to, const TokenPlace &to_first, const attune_tensor &from, const TokenPlace &from_first,
                 int64_t tokens, int32_t axis) {
    if (tokens == 0 || !has_elements(from)) return;
    JoinedAxes axes;
    for (int32_t i = to.rank - 1; i > 0; --i)
        axes.add({i == axis ? tokens : to.extent[i], {effective_stride(to, i), effective_stride(from, i)}});
    const bool together = !axes.empty() && axes.begin()->stride == JoinedAxes::Each{1, 1};
    const size_t bytes = static_cast<size_t>(together ? axes.take_innermost().extent : 1) * attune_type_size(to.type);
    const int64_t to_element = element_of(to, to_first, axis), from_element = element_of(from, from_first, axis);
    JoinedAxes::Index at;
    do
        std::memcpy(element_at(to, to_element + at.elements[0]), element_at(from, from_element + at.elements[1]), bytes);
    while (axes.advance(at));
}

} // namespace attune::runtime
