#include "runtime/src/position/positioned_rows.h"

#include "runtime/src/cuda/positions.h"
#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

/** Whether the first of three axes is the batch, as it must be where positions of items differ; else it counts as heads, which share a
 * table's rows. */
bool is_by_item(const attune_tensor &x, const attune_tensor *positions) {
    if (x.rank != 3 || !positions) return false;
    const int32_t rank = positions->rank; // not checked yet
    return (rank == 2 || rank == 3) && positions->extent[rank - 2] != 1;
}

attune_tensor with_one_head(const attune_tensor &tensor) {
    attune_tensor full = tensor;
    full.rank = 4;
    for (int32_t axis = 3; axis > 1; --axis)
        full.extent[axis] = tensor.extent[axis - 1], full.stride[axis] = tensor.stride[axis - 1];
    full.extent[1] = 1, full.stride[1] = 0;
    return full;
}

} // namespace

attune_tensor as_rank4(const attune_tensor &tensor, const attune_tensor *positions) {
    if (is_by_item(tensor, positions)) return with_one_head(tensor);
    attune_tensor full = tensor;
    const int32_t added = 4 - tensor.rank;
    full.rank = 4;
    for (int32_t axis = 0; axis < 4; ++axis) {
        full.extent[axis] = axis < added ? 1 : tensor.extent[axis - added];
        full.stride[axis] = axis < added ? 0 : tensor.stride[axis - added];
    }
    return full;
}

Status check_rows(const attune_tensor &x, const attune_tensor &y) {
    ATTUNE_TRY(check_device(x.device, "x"));
    ATTUNE_TRY(check_type(x.type, "x", float_types));
    return check_pair(x, y, 2, 4, false, x.device, x.type);
}

Positions positions_of(const attune_tensor &x, const attune_tensor *given, int64_t offset, int32_t streams) {
    const attune_tensor full = as_rank4(x, given);
    Positions positions;
    positions.given = given;
    positions.offset = offset;
    positions.batch = full.extent[0];
    positions.tokens = full.extent[2];
    positions.streams = streams;
    positions.device = x.device;
    return positions;
}

Status run_encoding(const Encoding &encoding, const Positions &positions, const attune_tensor &x, const attune_tensor &y,
                    const char *schedule, attune_call *call) {
    Call scope(call);
    const attune_tensor from = as_rank4(x, positions.given), to = as_rank4(y, positions.given);
    return x.device == ATTUNE_CUDA ? encode_on_device(encoding, positions, from, to, schedule, scope)
                                   : encode(encoding, positions, from, to, schedule, scope);
}

} // namespace attune::runtime
