#include "integers.h"

#include "error.h"
#include "tensor.h"

namespace attune::runtime {

Status check_integer_type(const attune_tensor &tensor, const char *name) {
    const int type = raw_value(tensor.type);
    ATTUNE_REQUIRE(type == ATTUNE_I32 || type == ATTUNE_I64, "{}.type is {}; it must be ATTUNE_I32 ({}) or ATTUNE_I64 ({})", name, type,
                   static_cast<int>(ATTUNE_I32), static_cast<int>(ATTUNE_I64));
    return {};
}

Status check_integers(const attune_tensor &tensor, const char *name, int32_t min_rank, int32_t max_rank) {
    ATTUNE_TRY(check_integer_type(tensor, name));
    return check_tensor(tensor, {name, tensor.type, min_rank, max_rank, Role::input, false});
}

} // namespace attune::runtime
