// Fills and copies of rows with a pitch, and memory pools. As the others, they are done when the call returns.
#include <cstring>

#include "driver.h"

DRIVER_API cuMemAlloc_v2(attune::emulator::DevicePointer *address, size_t bytes);

namespace attune::emulator {

void require_device_memory(DevicePointer address, size_t bytes, const char *what);

/** CUDA_MEMCPY2D. */
struct Side2D {
    size_t x, y;
    int memory_type; // 1 host, 2 device, 4 either
    const void *host;
    DevicePointer device;
    void *array;
    size_t pitch;
};
struct Copy2D {
    Side2D source, destination;
    size_t width, height;
};

static DevicePointer row_of(const Side2D &side, size_t row, size_t width) {
    if (side.memory_type != 1 && side.memory_type != 2 && side.memory_type != 4)
        throw Error(Status::not_supported, "copies of arrays are not known");
    if (side.pitch < width) throw Error(Status::invalid_value, "a pitch is less than the width");
    const DevicePointer base = side.memory_type == 1 ? reinterpret_cast<DevicePointer>(side.host) : side.device;
    const DevicePointer at = base + side.x + side.pitch * (side.y + row);
    if (side.memory_type == 2) require_device_memory(at, width, "copy of rows");
    return at;
}

static void copy_2d(const Copy2D &copy) {
    for (size_t row = 0; row < copy.height; ++row)
        std::memmove(reinterpret_cast<void *>(row_of(copy.destination, row, copy.width)),
                     reinterpret_cast<const void *>(row_of(copy.source, row, copy.width)), copy.width);
}

template <class T> static void fill_2d(DevicePointer to, size_t pitch, T value, size_t width, size_t height) {
    if (to % sizeof(T) != 0 || pitch % sizeof(T) != 0 || (height > 1 && pitch < width * sizeof(T)))
        throw Error(Status::invalid_value, "a fill of rows is misaligned, or its pitch is less than the width");
    for (size_t row = 0; row < height; ++row) {
        require_device_memory(to + row * pitch, width * sizeof(T), "fill of rows");
        for (size_t i = 0; i < width; ++i)
            std::memcpy(reinterpret_cast<T *>(to + row * pitch) + i, &value, sizeof value);
    }
}

} // namespace attune::emulator

using namespace attune::emulator;

DRIVER_API cuMemcpy2DAsync_v2(const Copy2D *copy, void *) {
    return guarded_in_context([=] { copy_2d(*copy); });
}
DRIVER_API cuMemsetD2D8Async(DevicePointer to, size_t pitch, unsigned char value, size_t width, size_t height, void *) {
    return guarded_in_context([=] { fill_2d(to, pitch, value, width, height); });
}
DRIVER_API cuMemsetD2D32Async(DevicePointer to, size_t pitch, unsigned value, size_t width, size_t height, void *) {
    return guarded_in_context([=] { fill_2d(to, pitch, value, width, height); });
}

/** One pool will do: it keeps nothing. */
DRIVER_API cuMemPoolCreate(void **pool, const void *) {
    return guarded([=] { *pool = &device(); });
}
DRIVER_API cuMemPoolDestroy(void *) {
    return guarded([] {});
}
DRIVER_API cuMemPoolSetAttribute(void *, int, void *) {
    return guarded([] {});
}
DRIVER_API cuMemPoolTrimTo(void *, size_t) {
    return guarded([] {});
}
DRIVER_API cuMemAllocFromPoolAsync(DevicePointer *address, size_t bytes, void *, void *) { return cuMemAlloc_v2(address, bytes); }
