// Attention of few queries to many keys: the same arguments and results as attention, with nothing compiled in.
#include "dsl/prefetch.h"
#include "dsl/words.h"
#include "generators/attention_cpu.h"
#include "schedules/register_arrays.h"

namespace attune::generators {

class AttentionDecode : public ResultGenerator<AttentionDecode> {
public:
    void generate() {
        const dsl::AttentionInputs in = attention_inputs();
        const schedules::Machine machine = schedules::machine(get_target(), dtype);
        const auto &chosen = known(schedules::decode_schedules(), schedule_name, get_target());
        const dsl::Decode decode = dsl::decode(in, chosen.shape(machine, head_dim, in.keys));
        out = decode.attention;
        lse = decode.lse;
        chosen.apply(decode, machine);
        bind_results(in);
    }

    /** Called after generate(): the pipeline is known only then. */
    void schedule() {
        dsl::lower_prefetches(get_pipeline());
        dsl::lower_words(get_pipeline());
        get_pipeline().add_custom_lowering_pass(new schedules::RegisterArrays);
    }
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::AttentionDecode, attention_decode)
