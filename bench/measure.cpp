#include "bench/measure.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "bench/machine.h"
#include "bench/reference.h"
#include "bench/threads.h"
#include "bench/workload.h"

namespace attune::bench {
namespace {

/** A schedule being timed. */
struct Contender {
    AttentionPlan plan;
    Measurement result;
};

AttentionDesc desc_of(const Case &c, const std::string &schedule) {
    AttentionDesc desc;
    desc.dtype = c.dtype, desc.head_dim = c.head_dim, desc.value_dim = c.value_dim;
    desc.mask = c.mask, desc.schedule = schedule;
    return desc;
}

Result<std::vector<Contender>> plan_all(const Case &c, const Settings &settings) {
    std::vector<Contender> contenders;
    for (const std::string &schedule : settings.schedules) {
        Result<AttentionPlan> plan = AttentionPlan::create(desc_of(c, schedule));
        if (!plan) return plan.status();
        const attune_kernel *kernel = plan->kernel_for(c.queries, c.query_heads, c.kv_heads, c.keys);
        const std::string name = schedule.empty() && kernel ? kernel->schedule : schedule;
        contenders.push_back({std::move(*plan), {name, std::numeric_limits<double>::infinity(), 0, 0}});
    }
    return contenders;
}

/** Checks one call's output, over an output of NaN: what the kernel doesn't write must not pass. The call warms up as well. */
Status check_output(Contender &contender, const Case &c, const Workload &workload, Call &call) {
    workload.spoil_output();
    if (Status status = contender.plan.run(workload.args(0), call); !status) return status;
    contender.result.max_error = max_error(c, workload);
    return {};
}

Status check_memory(const Case &c) {
    const double available = double(available_memory_bytes());
    if (c.tensor_bytes() <= available) return {};
    return {ATTUNE_OUT_OF_MEMORY,
            fmt::format("{} takes {:.1f} GB; {:.1f} GB of memory are available", c.name, c.tensor_bytes() * 1e-9, available * 1e-9)};
}

} // namespace

Status take_turns(const Settings &settings, std::size_t contenders, const std::function<Status(std::size_t)> &round) {
    const double budget = settings.seconds * double(contenders), start = now();
    for (double elapsed = 0; elapsed < budget; elapsed = now() - start) {
        if (settings.report) settings.report(elapsed / budget);
        for (std::size_t i = 0; i < contenders; ++i)
            if (Status status = round(i); !status) return status;
    }
    return {};
}

Status time_round(int64_t copies, double &fastest, const std::function<Status(int64_t copy)> &run) {
    const double start = now();
    for (int64_t copy = 0; copy < copies; ++copy)
        if (Status status = run(copy); !status) return status;
    fastest = std::min(fastest, (now() - start) / double(copies));
    return {};
}

Status check(const Case &c, const Settings &settings) {
    const Status status = plan_all(c, settings).status();
    return status.ok() ? check_memory(c) : status;
}

Result<CaseResult> measure(const Case &c, const Settings &settings) {
    Result<std::vector<Contender>> contenders = plan_all(c, settings);
    if (!contenders) return contenders.status();
    if (const Status status = check_memory(c); !status) return status;
    const Rotation rotation = rotation_for(c);
    const Workload workload(c, rotation.copies);
    std::vector<AttentionArgs> copies;
    for (int64_t copy = 0; copy < workload.copies(); ++copy)
        copies.push_back(workload.args(copy));
    Call call(settings.threads);
    for (Contender &contender : *contenders)
        if (Status status = check_output(contender, c, workload, call); !status) return status;
    const auto round = [&](std::size_t i) {
        Contender &contender = (*contenders)[i];
        return time_round(workload.copies(), contender.result.seconds, [&](int64_t copy) {
            Status status = contender.plan.run(copies[static_cast<std::size_t>(copy)], call);
            contender.result.workspace_bytes = std::max(contender.result.workspace_bytes, static_cast<int64_t>(call.workspace_bytes));
            return status;
        });
    };
    if (Status status = take_turns(settings, contenders->size(), round); !status) return status;
    CaseResult result{{}, rotation.copies, rotation.capped};
    for (Contender &contender : *contenders)
        result.schedules.push_back(std::move(contender.result));
    return result;
}

} // namespace attune::bench
