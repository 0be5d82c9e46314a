// The schedule `flash` for a class of CPUs, this machine's own unless another is named, ready to be looked into.
#pragma once

#include "jit_attention.h"
#include "schedules/passes.h"
#include "schedules/table.h"
#include "targets.h"

namespace attune::test {

struct Flash {
    /** `head_dim`: D and Dv compiled in, or 0 for any. `mask`: compiled in. `rows_at_a_time`: what a thread takes, or 0 for a task. */
    explicit Flash(int head_dim = 0, std::optional<dsl::Mask> mask = std::nullopt, bool count_panels = false,
                   const Halide::Target &for_target = runnable_targets().front(), int rows_at_a_time = 0)
        : target(for_target), jit(head_dim, std::move(mask)) {
        if (count_panels) jit.count_panels();
        const schedules::AttentionSchedule &schedule = *schedules::find(schedules::attention_schedules(), "flash");
        dsl::Blocking shape = schedule.shape(machine, head_dim, jit.inputs().keys);
        if (rows_at_a_time > 0) shape.share(rows_at_a_time, jit.inputs().queries, jit.inputs().keys);
        attention = jit.declare(shape);
        blocking = attention.blocking;
        schedule.apply(attention, machine);
        schedules::add_passes(jit.pipeline, attention, machine);
    }

    void compile() { jit.compile(target); }

    const Halide::Target target;
    const schedules::Machine machine = schedules::machine(target);
    JitAttention jit;
    dsl::Attention attention;
    dsl::Blocking blocking;
};

} // namespace attune::test
