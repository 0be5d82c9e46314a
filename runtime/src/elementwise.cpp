#include "elementwise.h"

#include <cmath>

#include "cpu.h"
#include "overlap.h"
#include "registry.h"
#include "tensor.h"

namespace attune::runtime {

Status find_elementwise(const char *operation, const char *schedule, const attune_kernel *&kernel) {
    ATTUNE_TRY(check_cpu_setting());
    return find_kernel({operation, schedule ? schedule : "vectorized", ATTUNE_F32}, kernel);
}

Status check_pair(const attune_tensor &x, const attune_tensor &y, int32_t min_rank, int32_t max_rank) {
    ATTUNE_TRY(check_tensor(x, {"x", ATTUNE_F32, min_rank, max_rank, Role::input, true}));
    ATTUNE_TRY(check_tensor(y, {"y", ATTUNE_F32, x.rank, x.rank, Role::output, true}));
    for (int32_t i = 0; i < x.rank; ++i)
        ATTUNE_REQUIRE(y.extent[i] == x.extent[i], "y.extent[{}] is {}; it must be {}, as in x", i, y.extent[i], x.extent[i]);
    ATTUNE_REQUIRE(same_view(x, y) || !may_overlap(y, x), "y overlaps x in memory; it must be apart from x, or x itself");
    return {};
}

Status check_positions(int64_t offset, int64_t tokens) {
    const int64_t last = INT32_MAX - (tokens > 0 ? tokens - 1 : 0);
    ATTUNE_REQUIRE(offset >= INT32_MIN && offset <= last,
                   "offset is {}; it must be {} to {}, so that the positions of {} tokens fit in 32 bits", offset, INT32_MIN, last, tokens);
    return {};
}

Status check_base(double base) {
    ATTUNE_REQUIRE(std::isfinite(base) && base > 0, "base is {}; it must be above 0 and finite", base);
    return {};
}

} // namespace attune::runtime
