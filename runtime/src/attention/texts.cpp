#include "runtime/src/attention/texts.h"

#include <cstring>
#include <string>

#include "runtime/src/attention/positions.h"
#include "runtime/src/cuda/mask.h"
#include "runtime/src/kernel/own_kernel.h"

namespace attune::runtime {

namespace {

/** The text compiled in, or else the one given; "" for none. */
std::string text_of(const char *compiled, const char *given) {
    const char *text = compiled[0] ? compiled : given;
    return is_given(text) ? text : "";
}

/** What to write so that everything the plan asks for is compiled in. On ATTUNE_CUDA no kernel has been chosen yet. Kernels that decode
 * have no mask compiled in. */
std::string kernel_line(const attune_attention_desc &desc, const attune_attention_plan &plan) {
    const attune_kernel *kernel = plan.kernel;
    const std::string own = text_of(kernel ? kernel->mask : "", nullptr);
    OwnKernel wanted = {plan.device, desc.dtype, plan.head_dim, plan.value_dim, desc.mask};
    if (!own.empty()) wanted.mask = formatted("({}) & ({})", own, desc.mask);
    wanted.score = text_of(kernel ? kernel->score : "", desc.score);
    wanted.position = text_of(kernel ? kernel->position : "", desc.position);
    const char *schedule = kernel ? kernel->schedule : desc.schedule;
    if (schedule && std::strcmp(schedule, decode_schedule) != 0) wanted.schedule = schedule;
    return cmake_line(wanted);
}

/** What the mask given at run time may hold: what leaves rows a few intervals of keys, and the boolean tensor beside it. */
Status check_run_time_mask(const attune_attention_desc &desc, const attune_attention_plan &plan) {
    const text::MaskNode *term = first_without_intervals(plan.run_time_mask);
    if (!term) return {};
    const char *name = term->kind == text::MaskKind::tensor ? "tensor under | or !" : text::name_of(term->kind);
    if (desc.cache_dtype == ATTUNE_I8)
        return fail(ATTUNE_UNSUPPORTED, "{} of the mask \"{}\" must be compiled in, and no such kernel reads a cache of i8", name,
                    in_one_line(desc.mask));
    return fail(ATTUNE_UNSUPPORTED, "{} of the mask \"{}\" must be compiled in; write {} in CMake, and hand the plan my_attention_kernel",
                name, in_one_line(desc.mask), kernel_line(desc, plan));
}

/** On ATTUNE_CUDA: one window and lengths. What else there is a kernel may have compiled in, but for maps of blocks. */
Status take_cuda_mask(const attune_attention_desc &desc, attune_attention_plan &plan) {
    Status status = read_cuda_mask(plan.run_time_mask.mask, plan.cuda_mask);
    if (status.ok() || !takes_mask(plan.device, plan.run_time_mask.mask)) return status;
    return fail(status.code, "{}; write {} in CMake, and hand the plan my_attention_kernel", status.message, kernel_line(desc, plan));
}

Status take_mask(const attune_attention_desc &desc, attune_attention_plan &plan) {
    if (plan.own_kernel) ATTUNE_TRY(parse_kernel_mask(*plan.kernel, plan.kernel_mask));
    // The same mask twice is that mask, which the kernel has compiled in.
    if (plan.own_kernel && desc.mask && desc.mask[0] && std::strcmp(desc.mask, plan.kernel->mask) == 0) return {};
    ATTUNE_TRY(parse_run_time_mask(desc.mask, plan.run_time_mask));
    return plan.device == ATTUNE_CUDA ? take_cuda_mask(desc, plan) : check_run_time_mask(desc, plan);
}

Status check_single(const char *name, const char *given, const char *compiled, const attune_kernel &kernel) {
    ATTUNE_REQUIRE(!compiled[0] || !is_given(given), "desc.{} is \"{}\"; the kernel {} has its own compiled in, \"{}\"", name, given,
                   kernel.name, compiled);
    return {};
}

Status take_score(const attune_attention_desc &desc, attune_attention_plan &plan) {
    const char *compiled = plan.own_kernel ? plan.kernel->score : "";
    ATTUNE_TRY(check_single("score", desc.score, compiled, *plan.kernel));
    plan.score_compiled_in = compiled[0] != '\0';
    const char *text = plan.score_compiled_in ? compiled : desc.score;
    if (!text) return {};
    text::ScoreResult parsed = text::parse_score(text);
    ATTUNE_REQUIRE(parsed.ok(), "{}score, {}", plan.score_compiled_in ? "kernel." : "", parsed.error);
    plan.score = std::move(parsed.score);
    if (plan.device != ATTUNE_CUDA || !plan.score.find(text::ScoreKind::t5)) return {};
    return fail(ATTUNE_UNSUPPORTED, "the score has t5; on device cuda it must be made of softcap, alibi and bias alone");
}

Status take_position(const attune_attention_desc &desc, attune_attention_plan &plan) {
    const char *compiled = plan.own_kernel ? plan.kernel->position : "";
    ATTUNE_TRY(check_single("position", desc.position, compiled, *plan.kernel));
    plan.position_compiled_in = compiled[0] != '\0';
    const char *text = plan.position_compiled_in ? compiled : desc.position;
    if (!text) return {};
    text::PositionResult parsed = text::parse_position(text);
    ATTUNE_REQUIRE(parsed.ok(), "{}position, {}", plan.position_compiled_in ? "kernel." : "", parsed.error);
    plan.position = std::move(parsed.position);
    const Status fits = check_position(plan.position, plan.head_dim);
    ATTUNE_REQUIRE(fits.ok(), "{}position \"{}\": {}", plan.position_compiled_in ? "kernel." : "", in_one_line(text), fits.message);
    return {};
}

} // namespace

Status take_texts(const attune_attention_desc &desc, attune_attention_plan &plan) {
    ATTUNE_TRY(take_mask(desc, plan));
    ATTUNE_TRY(take_score(desc, plan));
    return take_position(desc, plan);
}

} // namespace attune::runtime
