// What attention over a cache on a GPU reads of its lengths.
#include "dsl/cache.h"

#include "generators/bind.h"

namespace attune::generators {

class CacheCounts : public Halide::Generator<CacheCounts> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "simt"};
    Input<Buffer<int32_t, 1>> lengths{"lengths"}; // (batch)
    Input<int32_t> new_tokens{"new_tokens"}, queries{"queries"}, capacity{"capacity"};
    Output<Buffer<int32_t, 2>> counts{"counts"}; // (batch, 2): keys, and the key position of query 0

    void generate() {
        const auto &schedule = known(schedules::cache_counts_schedules(), schedule_name, get_target());
        const dsl::CacheCounts declared = dsl::cache_counts(lengths, new_tokens, queries, capacity);
        counts = declared.result;
        schedule.apply(declared, schedules::machine(get_target()));
        lengths.dim(0).set_min(0).set_stride(Halide::Expr());
        counts.dim(0).set_bounds(0, lengths.dim(0).extent()), counts.dim(1).set_bounds(0, 2);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::CacheCounts, cache_counts)
