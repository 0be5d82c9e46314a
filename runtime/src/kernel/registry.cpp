#include "runtime/src/kernel/registry.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/src/cuda/device.h"
#include "runtime/src/error.h"
#include "runtime/src/kernel/cpu.h"
#include "runtime/src/tensor/tensor.h"

extern "C" const attune_kernel *const attune_prebuilt_kernels[];
extern "C" const int32_t attune_prebuilt_kernel_count;

namespace attune::runtime {

namespace {

bool equal(const char *a, const char *b) { return std::strcmp(a, b) == 0; }

bool has_texts(const attune_kernel &kernel) { return kernel.mask[0] || kernel.score[0] || kernel.position[0]; }

using Kernels = std::vector<const attune_kernel *>;
using KernelsByOperation = std::unordered_map<std::string_view, Kernels>;

KernelsByOperation kernels_on(attune_device device) {
    KernelsByOperation kernels;
    for (int32_t i = 0; i < attune_prebuilt_kernel_count; ++i)
        if (const attune_kernel &kernel = *attune_prebuilt_kernels[i]; kernel.device == device && !has_texts(kernel))
            kernels[kernel.operation].push_back(&kernel);
    return kernels;
}

/** The prebuilt kernels of an operation. Those with texts compiled in are run only by who names them. All kernels are looked through once:
 * a norm or a rotary encoding asks at each call, and where its layer's weights have just passed through the caches, each kernel looked at
 * is a wait for memory (a decoder's norm took 12 us, of which the kernel 1). */
const Kernels &linked_kernels(const char *operation, attune_device device) {
    // Never destroyed: calls may run while the process exits.
    static const auto &cpu = *new KernelsByOperation(kernels_on(ATTUNE_CPU)), &cuda = *new KernelsByOperation(kernels_on(ATTUNE_CUDA));
    static const auto &none = *new Kernels;
    const KernelsByOperation &kernels = device == ATTUNE_CUDA ? cuda : cpu;
    const auto found = kernels.find(operation);
    return found == kernels.end() ? none : found->second;
}

void append_once(std::string &list, const char *word) {
    const std::string entry = word;
    if ((", " + list + ",").find(", " + entry + ",") == std::string::npos) list += (list.empty() ? "" : ", ") + entry;
}

std::string schedules_of(const char *operation, attune_device device) {
    std::string list;
    for (const attune_kernel *kernel : linked_kernels(operation, device))
        append_once(list, kernel->schedule);
    return list;
}

std::string kernels_of(const char *operation, attune_device device) {
    std::string list;
    for (const attune_kernel *kernel : linked_kernels(operation, device))
        append_once(list, kernel->name);
    return list;
}

/** How well a kernel fits: the number of widths it is compiled for, -1 if it doesn't take them. */
int fit(const attune_kernel &kernel, const KernelQuery &query) {
    if (kernel.dtype != query.dtype || !equal(kernel.schedule, query.schedule)) return -1;
    if ((kernel.cache_dtype == ATTUNE_I8) != query.int8_cache) return -1;
    const bool takes_head = kernel.head_dim == 0 || kernel.head_dim == query.head_dim;
    const bool takes_value = kernel.value_dim == 0 || kernel.value_dim == query.value_dim;
    return takes_head && takes_value ? (kernel.head_dim != 0) + (kernel.value_dim != 0) : -1;
}

const char *on_device(const KernelQuery &query) { return query.device == ATTUNE_CUDA ? " on device cuda" : ""; }

Status no_kernel(const KernelQuery &query) {
    if (!has_schedule(query.operation, query.schedule, query.device)) {
        const std::string known = schedules_of(query.operation, query.device);
        if (known.empty()) return fail(ATTUNE_UNSUPPORTED, "no kernel that does {}{} is linked in", query.operation, on_device(query));
        return fail(ATTUNE_INVALID_ARGUMENT, "schedule is \"{}\"; the schedules of {}{} are {}", query.schedule, query.operation,
                    on_device(query), known);
    }
    const std::string widths = query.head_dim > 0 ? formatted(", D = {}, Dv = {}", query.head_dim, query.value_dim) : "";
    return fail(ATTUNE_UNSUPPORTED, "no linked kernel does {}{} for {}{}{} by the schedule {}; there are {}", query.operation,
                on_device(query), attune_type_name(query.dtype), query.int8_cache ? " over an int8 cache" : "", widths, query.schedule,
                kernels_of(query.operation, query.device));
}

Status check_cpu(const attune_kernel &kernel) {
    if (runs_on(kernel.targets, cpu_class())) return {};
    return fail(ATTUNE_UNSUPPORTED, "the kernel {} is built for {}; this CPU's class is {}", kernel.name, kernel.targets,
                name_of(cpu_class()));
}

Status check_gpu(const attune_kernel &kernel, int capability) {
    if (runs_on_cuda(kernel.targets, capability)) return {};
    return fail(ATTUNE_UNSUPPORTED, "the kernel {} is built for {}; {} has compute capability {}", kernel.name, kernel.targets,
                attune_cuda_device_name(), capability_text(capability));
}

} // namespace

bool is_prebuilt(const attune_kernel &kernel) {
    const Kernels &kernels = linked_kernels(kernel.operation, kernel.device);
    return std::find(kernels.begin(), kernels.end(), &kernel) != kernels.end();
}

bool has_schedule(const char *operation, const char *schedule, attune_device device) {
    const Kernels &kernels = linked_kernels(operation, device);
    return std::any_of(kernels.begin(), kernels.end(), [&](const attune_kernel *kernel) { return equal(kernel->schedule, schedule); });
}

Status find_kernel(const KernelQuery &query, const attune_kernel *&found) {
    const attune_kernel *best = nullptr;
    for (const attune_kernel *kernel : linked_kernels(query.operation, query.device))
        if (fit(*kernel, query) > (best ? fit(*best, query) : -1)) best = kernel;
    if (!best) return no_kernel(query);
    ATTUNE_TRY(check_machine(*best, query.capability));
    found = best;
    return {};
}

Status check_machine(const attune_kernel &kernel, int capability) {
    return kernel.device == ATTUNE_CUDA ? check_gpu(kernel, capability) : check_cpu(kernel);
}

Status check_kernel(const attune_kernel &kernel, const char *operation, attune_device device) {
    ATTUNE_TRY(check_struct(&kernel, "kernel", "attune_add_kernel's descriptor, built against the same attune.h"));
    ATTUNE_REQUIRE(kernel.name && kernel.operation && kernel.schedule && kernel.targets && kernel.mask && kernel.score && kernel.position &&
                       kernel.call,
                   "kernel has a NULL name, operation, schedule, targets, mask, score, position or call; it must be a descriptor that "
                   "attune_add_kernel made");
    ATTUNE_REQUIRE(equal(kernel.operation, operation), "kernel.operation is \"{}\"; it must be \"{}\"", kernel.operation, operation);
    ATTUNE_REQUIRE(kernel.param_count == 0 || (kernel.param_count > 0 && kernel.params),
                   "kernel.param_count is {}; it must be 0 or more, with kernel.params their names", kernel.param_count);
    ATTUNE_REQUIRE(kernel.device == device, "kernel.device is {}; desc.device is {}", attune_device_name(kernel.device),
                   attune_device_name(device));
    return {};
}

} // namespace attune::runtime

extern "C" int32_t attune_kernel_count(void) { return attune_prebuilt_kernel_count; }

extern "C" const attune_kernel *attune_kernel_at(int32_t index) {
    return index >= 0 && index < attune_prebuilt_kernel_count ? attune_prebuilt_kernels[index] : nullptr;
}
