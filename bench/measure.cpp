#include "bench/measure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

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

Status check_memory(const std::vector<Case> &cases) {
    double needed = 0;
    for (const Case &c : cases)
        needed += c.tensor_bytes();
    const double available = double(available_memory_bytes());
    if (needed <= available) return {};
    return {ATTUNE_OUT_OF_MEMORY,
            fmt::format("{} takes {:.1f} GB; {:.1f} GB of memory are available", cases.front().name, needed * 1e-9, available * 1e-9)};
}

/** A case with its tensors, and the schedules to time on it. */
struct Subject {
    Rotation rotation;
    Workload workload;
    std::vector<AttentionArgs> copies;
    std::vector<Contender> contenders;

    Subject(const Case &c, std::vector<Contender> planned)
        : rotation(rotation_for(c)), workload(c, rotation.copies), contenders(std::move(planned)) {
        for (int64_t copy = 0; copy < workload.copies(); ++copy)
            copies.push_back(workload.args(copy));
    }
};

/** With one call of each contender made and checked. */
Result<std::unique_ptr<Subject>> make_subject(const Case &c, const Settings &settings, Call &call) {
    Result<std::vector<Contender>> contenders = plan_all(c, settings);
    if (!contenders) return contenders.status();
    auto subject = std::make_unique<Subject>(c, std::move(*contenders));
    for (Contender &contender : subject->contenders)
        if (Status status = check_output(contender, c, subject->workload, call); !status) return status;
    return subject;
}

Status time_contender(const Subject &subject, Contender &contender, Call &call) {
    return time_round(subject.workload.copies(), contender.result.seconds, [&](int64_t copy) {
        Status status = contender.plan.run(subject.copies[static_cast<std::size_t>(copy)], call);
        contender.result.workspace_bytes = std::max(contender.result.workspace_bytes, static_cast<int64_t>(call.workspace_bytes));
        return status;
    });
}

} // namespace

Status take_turns(const Settings &settings, std::size_t contenders, const std::function<Status(std::size_t)> &round) {
    const double budget = settings.seconds * double(contenders), start = now();
    double longest = 0; // call
    const auto turn = [&](std::size_t i) -> Status {
        const double begin = now();
        for (double call = begin; call == begin || call - begin < longest;) {
            if (Status status = round(i); !status) return status;
            const double end = now();
            longest = std::max(longest, end - call), call = end;
        }
        return {};
    };
    double elapsed = 0;
    for (int64_t turns = 0; turns < settings.turns || elapsed < budget; ++turns, elapsed = now() - start) {
        if (settings.report) settings.report(std::min(elapsed / budget, 1.0));
        for (std::size_t i = 0; i < contenders; ++i)
            if (Status status = turn(i); !status) return status;
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

Status check(const std::vector<Case> &cases, const Settings &settings) {
    for (const Case &c : cases)
        if (const Status status = plan_all(c, settings).status(); !status) return status;
    return check_memory(cases);
}

Result<std::vector<CaseResult>> measure(const std::vector<Case> &cases, const Settings &settings) {
    if (const Status status = check_memory(cases); !status) return status;
    Call call(settings.threads);
    std::vector<std::unique_ptr<Subject>> subjects;
    for (const Case &c : cases) {
        Result<std::unique_ptr<Subject>> subject = make_subject(c, settings, call);
        if (!subject) return subject.status();
        subjects.push_back(std::move(*subject));
    }
    const std::size_t schedules = settings.schedules.size();
    const auto round = [&](std::size_t i) {
        Subject &subject = *subjects[i / schedules];
        return time_contender(subject, subject.contenders[i % schedules], call);
    };
    if (Status status = take_turns(settings, subjects.size() * schedules, round); !status) return status;
    std::vector<CaseResult> results;
    for (const std::unique_ptr<Subject> &subject : subjects) {
        CaseResult &result = results.emplace_back(CaseResult{{}, subject->rotation.copies, subject->rotation.capped});
        for (Contender &contender : subject->contenders)
            result.schedules.push_back(std::move(contender.result));
    }
    return results;
}

} // namespace attune::bench
