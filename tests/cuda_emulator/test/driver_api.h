// The entry points of the driver that the tests call, declared as CUDA does but with plain types.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetAttribute(int *value, int which, int device);
int cuDeviceGetName(char *name, int bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuCtxDestroy_v2(void *context);
int cuCtxGetCurrent(void **context);
int cuCtxSetCurrent(void *context);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);
int cuCtxSynchronize();
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
int cuMemFree_v2(unsigned long long address);
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes);
int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, size_t bytes);
int cuMemcpy3D_v2(const void *copy);
int cuMemsetD8_v2(unsigned long long to, unsigned char value, size_t count);
int cuMemsetD32_v2(unsigned long long to, unsigned value, size_t count);
int cuPointerGetAttribute(void *result, int which, unsigned long long address);
int cuModuleLoadData(void **module, const void *image);
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetGlobal_v2(unsigned long long *address, size_t *bytes, void *module, const char *name);
int cuFuncGetAttribute(int *value, int which, void *function);
int cuFuncSetAttribute(void *function, int which, int value);
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                   unsigned shared, void *stream, void **parameters, void **extra);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventElapsedTime(float *milliseconds, void *start, void *end);
int cuEventDestroy_v2(void *event);
int cuGetErrorName(int result, const char **name);
int cuGetProcAddress_v2(const char *name, void **entry, int version, uint64_t flags, int *found);
}
