// Allocation, copies and what is asked about pointers. Copies are done when the call returns, asynchronous ones too.
#include <cstdlib>
#include <cstring>

#include "driver.h"

namespace attune::emulator {

void require_device_memory(DevicePointer address, size_t bytes, const char *what) {
    Allocation allocation;
    if (bytes == 0 || device().memory.find(address, bytes, allocation)) return;
    throw Error(Status::invalid_value, std::string(what) + ": " + std::to_string(bytes) + " bytes at " + std::to_string(address) +
                                           " are not all in one allocation of the device");
}

static void *pointer(DevicePointer address) { return reinterpret_cast<void *>(address); }

static void copy_checked(DevicePointer to, DevicePointer from, size_t bytes, bool to_device, bool from_device) {
    if (to_device) require_device_memory(to, bytes, "copy to the device");
    if (from_device) require_device_memory(from, bytes, "copy from the device");
    if (bytes != 0) std::memmove(pointer(to), pointer(from), bytes);
}

static DevicePointer address_of(const void *host) { return reinterpret_cast<DevicePointer>(host); }

/** CUDA_MEMCPY3D. */
struct Side {
    size_t x, y, z, lod;
    int memory_type; // 1 host, 2 device, 4 either
    const void *host;
    DevicePointer device;
    void *array, *reserved;
    size_t pitch, height;
};
struct Copy3D {
    Side source, destination;
    size_t width, height, depth;
};

static DevicePointer line_of(const Side &side, size_t row, size_t plane) {
    if (side.memory_type != 1 && side.memory_type != 2 && side.memory_type != 4)
        throw Error(Status::not_supported, "copies of arrays are not known");
    const DevicePointer base = side.memory_type == 1 ? address_of(side.host) : side.device;
    return base + side.x + side.pitch * (side.y + row + side.height * (side.z + plane));
}

static void copy_3d(const Copy3D &copy) {
    for (size_t plane = 0; plane < copy.depth; ++plane) {
        for (size_t row = 0; row < copy.height; ++row) {
            copy_checked(line_of(copy.destination, row, plane), line_of(copy.source, row, plane), copy.width,
                         copy.destination.memory_type == 2, copy.source.memory_type == 2);
        }
    }
}

template <class T> static void fill(DevicePointer to, T value, size_t count) {
    require_device_memory(to, count * sizeof(T), "memset");
    require(to % sizeof(T) == 0, Status::invalid_value);
    for (size_t i = 0; i < count; ++i)
        std::memcpy(static_cast<T *>(pointer(to)) + i, &value, sizeof value);
}

/** False for an attribute that isn't known, or of memory that isn't the device's. */
static bool pointer_attribute(void *result, int which, DevicePointer address) {
    Allocation allocation;
    if (!device().memory.find(address, 1, allocation)) return false;
    const auto store = [result](auto value) { std::memcpy(result, &value, sizeof value); };
    switch (which) {
    case 1: // CONTEXT
        store(current_context());
        return true;
    case 2: // MEMORY_TYPE: device
        store(2);
        return true;
    case 3: // DEVICE_POINTER
        store(address);
        return true;
    case 7:  // BUFFER_ID
    case 11: // RANGE_START_ADDR
        store(static_cast<DevicePointer>(allocation.begin));
        return true;
    case 8: // IS_MANAGED
    case 9: // DEVICE_ORDINAL
        store(0);
        return true;
    case 12: // RANGE_SIZE
        store(static_cast<size_t>(allocation.end - allocation.begin));
        return true;
    default:
        return false;
    }
}

} // namespace attune::emulator

using namespace attune::emulator;

DRIVER_API cuMemAlloc_v2(DevicePointer *address, size_t bytes) {
    return guarded_in_context([=] {
        require(address != nullptr && bytes != 0, Status::invalid_value);
        require(bytes <= device_bytes - device().memory.used(), Status::out_of_memory);
        *address = device().memory.allocate(bytes);
        require(*address != 0, Status::out_of_memory);
    });
}
DRIVER_API cuMemFree_v2(DevicePointer address) {
    // The memory goes even where a kernel failed before.
    const bool released = address == 0 || device().memory.release(address);
    return guarded_in_context([=] { require(released, Status::invalid_value); });
}
DRIVER_API cuMemAllocAsync(DevicePointer *address, size_t bytes, void *) { return cuMemAlloc_v2(address, bytes); }
DRIVER_API cuMemFreeAsync(DevicePointer address, void *) { return cuMemFree_v2(address); }
DRIVER_API cuMemGetInfo_v2(size_t *left, size_t *total) {
    return guarded_in_context([=] {
        *total = device_bytes;
        *left = device_bytes - device().memory.used();
    });
}
DRIVER_API cuMemGetAddressRange_v2(DevicePointer *base, size_t *bytes, DevicePointer address) {
    return guarded_in_context([=] {
        Allocation allocation;
        require(device().memory.find(address, 1, allocation), Status::not_found);
        if (base != nullptr) *base = allocation.begin;
        if (bytes != nullptr) *bytes = allocation.end - allocation.begin;
    });
}
DRIVER_API cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
    return guarded_in_context([=] {
        *memory = std::malloc(bytes);
        require(*memory != nullptr, Status::out_of_memory);
    });
}
DRIVER_API cuMemAllocHost_v2(void **memory, size_t bytes) { return cuMemHostAlloc(memory, bytes, 0); }
DRIVER_API cuMemFreeHost(void *memory) {
    return guarded_in_context([=] { std::free(memory); });
}
DRIVER_API cuMemHostRegister_v2(void *, size_t, unsigned) {
    return guarded_in_context([] {});
}
DRIVER_API cuMemHostUnregister(void *) {
    return guarded_in_context([] {});
}
DRIVER_API cuMemcpy(DevicePointer to, DevicePointer from, size_t bytes) {
    return guarded_in_context([=] { copy_checked(to, from, bytes, false, false); });
}
DRIVER_API cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t bytes, void *) { return cuMemcpy(to, from, bytes); }
DRIVER_API cuMemcpyHtoD_v2(DevicePointer to, const void *from, size_t bytes) {
    return guarded_in_context([=] { copy_checked(to, address_of(from), bytes, true, false); });
}
DRIVER_API cuMemcpyHtoDAsync_v2(DevicePointer to, const void *from, size_t bytes, void *) { return cuMemcpyHtoD_v2(to, from, bytes); }
DRIVER_API cuMemcpyDtoH_v2(void *to, DevicePointer from, size_t bytes) {
    return guarded_in_context([=] { copy_checked(address_of(to), from, bytes, false, true); });
}
DRIVER_API cuMemcpyDtoHAsync_v2(void *to, DevicePointer from, size_t bytes, void *) { return cuMemcpyDtoH_v2(to, from, bytes); }
DRIVER_API cuMemcpyDtoD_v2(DevicePointer to, DevicePointer from, size_t bytes) {
    return guarded_in_context([=] { copy_checked(to, from, bytes, true, true); });
}
DRIVER_API cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes, void *) { return cuMemcpyDtoD_v2(to, from, bytes); }
DRIVER_API cuMemcpy3D_v2(const Copy3D *copy) {
    return guarded_in_context([=] { copy_3d(*copy); });
}
DRIVER_API cuMemcpy3DAsync_v2(const Copy3D *copy, void *) { return cuMemcpy3D_v2(copy); }
DRIVER_API cuMemsetD8_v2(DevicePointer to, unsigned char value, size_t count) {
    return guarded_in_context([=] { fill(to, value, count); });
}
DRIVER_API cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count, void *) { return cuMemsetD8_v2(to, value, count); }
DRIVER_API cuMemsetD16_v2(DevicePointer to, unsigned short value, size_t count) {
    return guarded_in_context([=] { fill(to, value, count); });
}
DRIVER_API cuMemsetD16Async(DevicePointer to, unsigned short value, size_t count, void *) { return cuMemsetD16_v2(to, value, count); }
DRIVER_API cuMemsetD32_v2(DevicePointer to, unsigned value, size_t count) {
    return guarded_in_context([=] { fill(to, value, count); });
}
DRIVER_API cuMemsetD32Async(DevicePointer to, unsigned value, size_t count, void *) { return cuMemsetD32_v2(to, value, count); }
DRIVER_API cuPointerGetAttribute(void *result, int which, DevicePointer address) {
    return guarded_in_context([=] { require(pointer_attribute(result, which, address), Status::invalid_value); });
}
DRIVER_API cuPointerGetAttributes(unsigned count, const int *which, void **results, DevicePointer address) {
    return guarded_in_context([=] {
        for (unsigned i = 0; i < count; ++i) {
            const bool is_small = which[i] == 2 || which[i] == 8 || which[i] == 9;
            if (!pointer_attribute(results[i], which[i], address)) std::memset(results[i], 0, is_small ? 4 : 8);
        }
    });
}
