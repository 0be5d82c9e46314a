// Attention of few queries to many keys: the same arguments and results as attention, with nothing compiled in.
#include "generators/attention_cpu.h"
#include "schedules/passes.h"

namespace attune::generators {

class AttentionDecode : public ResultGenerator<AttentionDecode> {
public:
    void generate() {
        const dsl::AttentionInputs in = attention_inputs();
        const schedules::Machine machine = schedules::machine(get_target(), dtype);
        const auto &chosen = known(schedules::decode_schedules(), schedule_name, get_target());
        decode_ = dsl::decode(in, chosen.shape(machine, head_dim, in));
        out = decode_.attention;
        lse = decode_.lse;
        chosen.apply(decode_, machine);
        bind_results(in);
    }

    void schedule() { schedules::add_passes(get_pipeline(), decode_, schedules::machine(get_target(), dtype)); }

private:
    dsl::Decode decode_;
};

} // namespace attune::generators

HALIDE_REGISTER_GENERATOR(attune::generators::AttentionDecode, attention_decode)
