#include "runtime/src/tensor/integers.h"

#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

Status check_integers(const attune_tensor &tensor, const char *name, int32_t min_rank, int32_t max_rank) {
    ATTUNE_TRY(check_type(tensor.type, name, integer_types));
    return check_tensor(tensor, {name, tensor.type, min_rank, max_rank, Role::input, false});
}

} // namespace attune::runtime
