// The attention weights, from the log-sum-exp that attention gave for the same inputs.
#include "generators/attention.h"

namespace attune::generators {

class AttentionWeights : public ScoreGenerator<AttentionWeights> {
public:
    Tensor query{"query"}, key{"key"};
    Input<Buffer<int32_t, 4>> intervals{"intervals"};
    Input<Buffer<int32_t, 1>> offsets{"offsets"}, params{"params"};
    Input<Buffer<uint8_t, 4>> attend{"attend"};
    Input<Buffer<float, 4>> bias{"bias"};
    Input<int32_t> use_attend{"use_attend"}, use_bias{"use_bias"};
    Input<float> scale{"scale"}, softcap{"softcap"}, temperature{"temperature"};
    Input<Buffer<float, 3>> lse{"lse"};          // (query, head, batch)
    Output<Buffer<float, 4>> weights{"weights"}; // (key, query, head, batch)

    std::optional<dsl::Mask> compiled_mask() { return text_mask(*this); }

    void configure() {
        for (auto *tensor : {&query, &key})
            tensor->set_type(dtype);
    }

    void generate() {
        const dsl::AttentionInputs in = score_inputs(*this);
        const schedules::Machine machine = schedules::machine(get_target());
        const auto &schedule = known(schedules::weights_schedules(), schedule_name);
        const dsl::AttentionWeights declared = dsl::attention_weights(in, lse);
        weights = declared.result;
        schedule.apply(declared, machine);
        rows_of(weights, in.keys);
        weights.dim(1).set_bounds(0, in.queries);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::AttentionWeights, attention_weights)
