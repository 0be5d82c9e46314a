// NVIDIA's driver, loaded when something first asks for it: the library itself needs none. The few functions used are declared here, as
// builds of Attune have no cuda.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/src/status.h"

namespace attune::runtime {

using CudaResult = int;       // CUresult: 0 is success
using CudaHandle = void *;    // CUcontext, CUmodule, CUfunction or CUstream
using CudaPointer = uint64_t; // CUdeviceptr

/** CUDA_MEMCPY2D. */
struct CudaCopy2D {
    size_t src_x, src_y;
    unsigned src_type;
    const void *src_host;
    CudaPointer src_device;
    CudaHandle src_array;
    size_t src_pitch;
    size_t dst_x, dst_y;
    unsigned dst_type;
    void *dst_host;
    CudaPointer dst_device;
    CudaHandle dst_array;
    size_t dst_pitch;
    size_t width, height;
};

/** CUmemPoolProps, and room for what later drivers read of it. */
struct CudaPoolProperties {
    int allocation = 1; // pinned
    int handles = 0;    // none
    int location = 1;   // a device
    int device = 0;
    void *security = nullptr;
    unsigned char reserved[232] = {};
};

struct CudaDriver {
    CudaResult (*init)(unsigned flags);
    CudaResult (*error_string)(CudaResult, const char **text);
    CudaResult (*device_count)(int *count);
    CudaResult (*device_name)(char *name, int size, int device);
    CudaResult (*device_attribute)(int *value, int attribute, int device);
    CudaResult (*retain_primary_context)(CudaHandle *context, int device);
    CudaResult (*current_context)(CudaHandle *context);
    CudaResult (*current_device)(int *device);
    CudaResult (*push_context)(CudaHandle context);
    CudaResult (*pop_context)(CudaHandle *context);
    CudaResult (*load_module)(CudaHandle *module, const void *image);
    CudaResult (*module_function)(CudaHandle *function, CudaHandle module, const char *name);
    CudaResult (*set_function_attribute)(CudaHandle function, int attribute, int value);
    CudaResult (*fill_bytes)(CudaPointer to, size_t pitch, unsigned char value, size_t width, size_t height, CudaHandle stream);
    CudaResult (*fill_words)(CudaPointer to, size_t pitch, unsigned value, size_t width, size_t height, CudaHandle stream);
    CudaResult (*copy)(const CudaCopy2D *copy, CudaHandle stream);
    // Of CUDA 11.2 and later; nullptr in older drivers.
    CudaResult (*create_pool)(CudaHandle *pool, const CudaPoolProperties *properties);
    CudaResult (*set_pool_attribute)(CudaHandle pool, int attribute, void *value);
    CudaResult (*trim_pool)(CudaHandle pool, size_t bytes);
    CudaResult (*allocate)(CudaPointer *to, size_t bytes, CudaHandle pool, CudaHandle stream);
    CudaResult (*release)(CudaPointer from, CudaHandle stream);

    bool has_pools() const { return create_pool && set_pool_attribute && trim_pool && allocate && release; }
};

/** The driver, loaded and initialised; UNSUPPORTED, with what is missing, where there is none. */
Status load_cuda_driver(const CudaDriver *&driver);

/** A function of the driver by name; nullptr where there is none. */
void *cuda_symbol(const char *name);

/** INTERNAL where a driver's function failed: `what` was to be done. OUT_OF_MEMORY where that was the reason. */
Status check_cuda(const CudaDriver &driver, CudaResult result, const char *what);

} // namespace attune::runtime
