// Cosines and sines of rotary position embedding.
#include "dsl/position.h"

#include "generators/bind.h"

namespace attune::generators {

class RotaryTable : public Halide::Generator<RotaryTable> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "vectorized"};
    Input<Buffer<int32_t, 3>> positions{"positions"}; // (token, stream, batch)
    Input<Buffer<int32_t, 1>> ends{"ends"};           // (stream): see dsl::RotaryPositions
    Input<double> base{"base"};
    Input<int32_t> width{"width"}, scaling{"scaling"}; // width of one embedding; a dsl::RotaryScaling
    Input<double> factor{"factor"}, original{"original"}, low{"low"}, high{"high"};
    Output<Buffer<float, 4>> table{"table"}; // (pair, plane, token, batch)

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target());
        const auto &schedule = known(schedules::rotary_table_schedules(), schedule_name, get_target());
        const dsl::FrequencyInputs frequencies = {width, base, scaling, factor, original, low, high};
        const dsl::RotaryTable declared = dsl::rotary_table(frequencies, {positions, positions.dim(1).extent(), ends});
        table = declared.table;
        schedule.apply(declared, machine);
        positions.dim(0).set_stride(Halide::Expr());
        table.dim(0).set_min(0).set_stride(1);
        table.dim(1).set_bounds(0, 2);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::RotaryTable, rotary_table)
