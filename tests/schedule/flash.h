// The schedule `flash` for this machine, ready to be looked into.
#pragma once

#include "jit_attention.h"
#include "schedules/passes.h"
#include "schedules/table.h"
#include "targets.h"

namespace attune::test {

struct Flash {
    /** `head_dim`: D and Dv compiled in, or 0 for any. `mask`: compiled in. */
    explicit Flash(int head_dim = 0, std::optional<dsl::Mask> mask = std::nullopt, bool count_panels = false)
        : jit(head_dim, std::move(mask)) {
        if (count_panels) jit.count_panels();
        const schedules::AttentionSchedule &schedule = *schedules::find(schedules::attention_schedules(), "flash");
        attention = jit.declare(schedule.shape(machine, head_dim, jit.inputs().keys));
        blocking = attention.blocking;
        schedule.apply(attention, machine);
        schedules::add_passes(jit.pipeline, attention, machine);
    }

    void compile() { jit.compile(runnable_targets().front()); }

    const schedules::Machine machine = schedules::machine(runnable_targets().front());
    JitAttention jit;
    dsl::Attention attention;
    dsl::Blocking blocking;
};

} // namespace attune::test
