// The kernels that are linked in, and the choice among them.
#pragma once

#include <cstdint>

#include "runtime/src/status.h"

namespace attune::runtime {

struct KernelQuery {
    const char *operation;
    const char *schedule;
    attune_type dtype;
    int64_t head_dim = 0; // as head_dim and value_dim of attention; 0 for operations that have none
    int64_t value_dim = 0;
    bool int8_cache = false; // keys and values are int8, with scales
    attune_device device = ATTUNE_CPU;
    int capability = 0; // of the GPU, on ATTUNE_CUDA
};

/** The kernel compiled for exactly these widths, or else one for any width. INVALID_ARGUMENT for a schedule the operation lacks,
 * UNSUPPORTED where no kernel takes the type and widths or the CPU or GPU runs none; the sentence lists what there is. */
Status find_kernel(const KernelQuery &query, const attune_kernel *&found);

/** Checks a descriptor that attune_add_kernel emitted for the device, or says that it isn't one. */
Status check_kernel(const attune_kernel &kernel, const char *operation, attune_device device);

/** UNSUPPORTED where this CPU, or a GPU of this capability, can't run the kernel. */
Status check_machine(const attune_kernel &kernel, int capability = 0);

/** True for one of the linked kernels that have no mask, score or position compiled in. */
bool is_prebuilt(const attune_kernel &kernel);

bool has_schedule(const char *operation, const char *schedule, attune_device device = ATTUNE_CPU);

} // namespace attune::runtime
