// The biases of ALiBi and T5, by head and distance.
#include "dsl/score.h"

#include "generators/bind.h"

namespace attune::generators {

class RelativeBias : public Halide::Generator<RelativeBias> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "vectorized"};
    Input<Buffer<float, 1>> slopes{"slopes"};                 // (head)
    Input<Buffer<float, 2>> t5_table{"t5_table"};             // (head, bucket)
    Input<Buffer<int32_t, 1>> alibi_offsets{"alibi_offsets"}; // (batch)
    Input<Buffer<int32_t, 1>> t5_offsets{"t5_offsets"};
    Input<int32_t> use_alibi{"use_alibi"}, use_t5{"use_t5"};
    Input<int32_t> buckets{"buckets"}, max_distance{"max_distance"}, bidirectional{"bidirectional"};
    Input<int32_t> queries{"queries"}, keys{"keys"};
    Output<Buffer<float, 3>> relative{"relative"}; // (distance, head, batch)

    void generate() {
        const schedules::Machine machine = schedules::machine(get_target());
        const auto &schedule = known(schedules::relative_bias_schedules(), schedule_name, get_target());
        const dsl::RelativeBias declared = dsl::relative_bias(
            {slopes, t5_table, alibi_offsets, t5_offsets, use_alibi, use_t5, {buckets, max_distance, bidirectional}, keys});
        relative = declared.result;
        schedule.apply(declared, machine);
        bind();
    }

private:
    void bind() {
        const Halide::Expr heads = relative.dim(1).extent(), batch = relative.dim(2).extent();
        rows_of(relative, queries + keys - 1);
        relative.dim(1).set_min(0), relative.dim(2).set_min(0);
        slopes.dim(0).set_bounds(0, heads).set_stride(Halide::Expr());
        t5_table.dim(0).set_bounds(0, heads).set_stride(Halide::Expr());
        t5_table.dim(1).set_bounds(0, buckets);
        for (auto *input : {&alibi_offsets, &t5_offsets})
            input->dim(0).set_bounds(0, batch).set_stride(Halide::Expr());
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::RelativeBias, relative_bias)
