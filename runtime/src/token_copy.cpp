#include "token_copy.h"

#include <cstring>

#include "tensor.h"

namespace attune::runtime {

namespace {

/** A run of tokens of one item, as both tensors see it: extents, strides in bytes, and the bytes that lie together in both. */
struct Run {
    int64_t extent[ATTUNE_MAX_RANK];
    int64_t to[ATTUNE_MAX_RANK];
    int64_t from[ATTUNE_MAX_RANK];
    int32_t axes; // those outside of what lies together
    int64_t bytes;
};

Run describe(const attune_tensor &to, const attune_tensor &from, int64_t tokens, int32_t axis) {
    const auto size = static_cast<int64_t>(element_size(to.type));
    Run run = {{}, {}, {}, to.rank, size};
    for (int32_t i = 0; i < to.rank; ++i) {
        run.extent[i] = i == 0 ? 1 : i == axis ? tokens : to.extent[i];
        run.to[i] = effective_stride(to, i) * size;
        run.from[i] = effective_stride(from, i) * size;
    }
    for (; run.axes > 0; --run.axes) {
        const int32_t inner = run.axes - 1;
        const bool together = run.to[inner] == run.bytes && run.from[inner] == run.bytes;
        if (run.extent[inner] != 1 && !together) break;
        run.bytes *= run.extent[inner];
    }
    return run;
}

void copy(const Run &run, int32_t axis, char *to, const char *from) {
    if (axis == run.axes) {
        std::memcpy(to, from, static_cast<size_t>(run.bytes));
        return;
    }
    for (int64_t i = 0; i < run.extent[axis]; ++i)
        copy(run, axis + 1, to + i * run.to[axis], from + i * run.from[axis]);
}

/** The bytes from a tensor's first element to those of a place. */
int64_t offset_of(const attune_tensor &tensor, const TokenPlace &place, int32_t axis) {
    const int64_t element = effective_stride(tensor, 0) * place.item + effective_stride(tensor, axis) * place.token;
    return element * static_cast<int64_t>(element_size(tensor.type));
}

} // namespace

void copy_tokens(const attune_tensor &to, const TokenPlace &to_first, const attune_tensor &from, const TokenPlace &from_first,
                 int64_t tokens, int32_t axis) {
    if (tokens == 0) return;
    copy(describe(to, from, tokens, axis), 0, static_cast<char *>(to.data) + offset_of(to, to_first, axis),
         static_cast<const char *>(from.data) + offset_of(from, from_first, axis));
}

} // namespace attune::runtime
