// The attention weights, from the log-sum-exp that attention gave for the same inputs; or scores.
#include "generators/attention_cpu.h"

namespace attune::generators {

class AttentionWeights : public ScoreGenerator<AttentionWeights> {
public:
    Halide::GeneratorInput<int32_t> stage{"stage"};               // 0: weights; otherwise the scores after stage 1, 2 or 3
    Halide::GeneratorInput<Buffer<float, 3>> lse{"lse"};          // (query, head, batch)
    Halide::GeneratorOutput<Buffer<float, 4>> weights{"weights"}; // (key, query, head, batch)

    void generate() {
        const dsl::AttentionInputs in = score_inputs();
        const schedules::Machine machine = schedules::machine(get_target());
        const auto &schedule = known(schedules::weights_schedules(), schedule_name, get_target());
        const dsl::AttentionWeights declared = dsl::attention_weights(in, lse, stage);
        weights = declared.result;
        schedule.apply(declared, machine);
        rows_of(weights, in.keys);
        weights.dim(1).set_bounds(0, in.queries);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::AttentionWeights, attention_weights)
