#include "runtime/src/kernel/call.h"

#include <algorithm>

#include "runtime/src/error.h"
#include "runtime/src/kernel/halide_hooks.h"
#include "runtime/src/kernel/halide_runtime.h"
#include "runtime/src/kernel/threads.h"

namespace attune::runtime {

Status check_call(attune_call *settings) {
    if (!settings) return {};
    ATTUNE_TRY(check_struct(settings, "call", "ATTUNE_CALL_INIT"));
    ATTUNE_REQUIRE(settings->threads >= 0, "call.threads is {}; it must be 0 (every CPU) or more", settings->threads);
    settings->workspace_bytes = 0;
    return {};
}

Call::Call(attune_call *settings) : settings_(settings) {
    context_.workspace = acquire_workspace();
    const int32_t threads = settings ? settings->threads : 0;
    context_.threads = std::min(threads > 0 ? threads : available_cpus(), max_threads);
    if (!settings) return;
    context_.parallel_for = settings->parallel_for;
    context_.pool = settings->pool;
    context_.cuda_stream = settings->stream;
}

Call::~Call() {
    if (settings_) settings_->workspace_bytes = context_.workspace->peak_bytes();
    return_workspace(context_.workspace);
}

int32_t Call::threads() const { return inside_task() ? 1 : context_.threads; }

Status out_of_memory(const char *what, int64_t bytes) {
    return fail(ATTUNE_OUT_OF_MEMORY, "{} needs {} bytes; there is no memory", what, bytes);
}

Status run_kernel(const attune_kernel &kernel, void **arguments, Call &call) {
    install_halide_hooks();
    void *context = &call.context();
    arguments[0] = &context;
    const int code = kernel.call(arguments);
    // Kernels for GPUs don't look at what a launch gives: Halide's runtime has told the error handler.
    if (code == 0 && !call.context().failed) return {};
    const char *reason = call.context().failed ? call.context().error : "it gave no reason";
    const bool memory = code == halide_error_code_out_of_memory;
    return fail(memory ? ATTUNE_OUT_OF_MEMORY : ATTUNE_INTERNAL, "the kernel {} failed with code {}: {}", kernel.name, code, reason);
}

} // namespace attune::runtime
