// ALiBi's slopes.
#include "dsl/score.h"

#include "generators/bind.h"

namespace attune::generators {

class AlibiSlopes : public Halide::Generator<AlibiSlopes> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "vectorized"};
    Input<int32_t> heads{"heads"};
    Output<Buffer<float, 1>> slopes{"slopes"}; // (head)

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target());
        const auto &schedule = known(schedules::slopes_schedules(), schedule_name, get_target());
        const dsl::AlibiSlopes declared = dsl::alibi_slopes(heads);
        slopes = declared.slopes;
        schedule.apply(declared, machine);
        rows_of(slopes, heads);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::AlibiSlopes, alibi_slopes)
