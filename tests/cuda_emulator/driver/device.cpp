// The device and what is asked about it.
#include <cstdlib>
#include <cstring>

#include "driver.h"

namespace attune::emulator {

static int capability_from_environment() {
    const char *text = std::getenv("ATTUNE_EMULATED_CC");
    int major = 0, minor = 0;
    if (text == nullptr) return 90;
    if (std::sscanf(text, "%d.%d", &major, &minor) != 2 || major < 1 || minor < 0 || minor > 9) {
        report(std::string("ATTUNE_EMULATED_CC is \"") + text + "\", not a capability like 8.6; it is 9.0 now");
        return 90;
    }
    return major * 10 + minor;
}

static uint64_t opt_in_limit(int capability) {
    if (capability >= 90) return 227 << 10;
    if (capability == 80 || capability == 87) return 163 << 10;
    if (capability >= 86) return 99 << 10;
    if (capability >= 75) return 64 << 10;
    return capability >= 70 ? 96 << 10 : 48 << 10;
}

Device::Device() : capability(capability_from_environment()), shared_opt_in(opt_in_limit(capability)) {}

Device &device() {
    static Device *only = new Device; // never destroyed: threads may call until the process ends
    return *only;
}

void report(const std::string &what) { std::fprintf(stderr, "PTX emulator: %s\n", what.c_str()); }

static int attribute(int which) {
    const Device &d = device();
    switch (which) {
    case 1: // MAX_THREADS_PER_BLOCK
    case 2: // MAX_BLOCK_DIM_X
    case 3:
        return 1024;
    case 4:
        return 64;
    case 5: // MAX_GRID_DIM_X
        return 0x7fffffff;
    case 6:
    case 7:
        return 65535;
    case 8: // MAX_SHARED_MEMORY_PER_BLOCK
        return static_cast<int>(shared_without_opt_in);
    case 9: // TOTAL_CONSTANT_MEMORY
        return 65536;
    case 10: // WARP_SIZE
        return 32;
    case 12: // MAX_REGISTERS_PER_BLOCK
    case 82: // MAX_REGISTERS_PER_MULTIPROCESSOR
        return 65536;
    case 13: // CLOCK_RATE, kHz
        return 1000000;
    case 16: // MULTIPROCESSOR_COUNT
        return 8;
    case 36: // MEMORY_CLOCK_RATE
        return 1000000;
    case 37: // GLOBAL_MEMORY_BUS_WIDTH
        return 256;
    case 38: // L2_CACHE_SIZE
        return 4 << 20;
    case 39: // MAX_THREADS_PER_MULTIPROCESSOR
        return 2048;
    case 41:  // UNIFIED_ADDRESSING
    case 40:  // ASYNC_ENGINE_COUNT
    case 31:  // CONCURRENT_KERNELS
    case 115: // MEMORY_POOLS_SUPPORTED
        return 1;
    case 75:
        return d.capability / 10;
    case 76:
        return d.capability % 10;
    case 81: // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
        return static_cast<int>(d.shared_opt_in + shared_reserved);
    case 97: // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        return static_cast<int>(d.shared_opt_in);
    case 106: // MAX_BLOCKS_PER_MULTIPROCESSOR
        return 32;
    case 111: // RESERVED_SHARED_MEMORY_PER_BLOCK
        return static_cast<int>(shared_reserved);
    default: // what isn't supported, managed memory among it
        return 0;
    }
}

} // namespace attune::emulator

using namespace attune::emulator;

DRIVER_API cuDriverGetVersion(int *version) {
    *version = 13000;
    return 0;
}
DRIVER_API cuDeviceGetCount(int *count) {
    return guarded([=] { *count = 1; });
}
DRIVER_API cuDeviceGet(int *result, int ordinal) {
    return guarded([=] {
        require(ordinal == 0, Status::invalid_device);
        *result = 0;
    });
}
DRIVER_API cuDeviceGetAttribute(int *value, int which, int ordinal) {
    return guarded([=] {
        require(ordinal == 0, Status::invalid_device);
        require(value != nullptr && which > 0 && which < 200, Status::invalid_value);
        *value = attribute(which);
    });
}
DRIVER_API cuDeviceGetName(char *name, int bytes, int ordinal) {
    return guarded([=] {
        require(ordinal == 0, Status::invalid_device);
        require(name != nullptr && bytes > 0, Status::invalid_value);
        std::snprintf(name, static_cast<size_t>(bytes), "PTX emulator");
    });
}
DRIVER_API cuDeviceGetUuid(char *uuid, int ordinal) {
    return guarded([=] {
        require(ordinal == 0, Status::invalid_device);
        std::memcpy(uuid, "PTX emulator 001", 16);
    });
}
DRIVER_API cuDeviceGetUuid_v2(char *uuid, int ordinal) { return cuDeviceGetUuid(uuid, ordinal); }
DRIVER_API cuDeviceTotalMem_v2(size_t *bytes, int ordinal) {
    return guarded([=] {
        require(ordinal == 0, Status::invalid_device);
        *bytes = device_bytes;
    });
}
DRIVER_API cuDeviceComputeCapability(int *major, int *minor, int ordinal) {
    return guarded([=] {
        require(ordinal == 0, Status::invalid_device);
        *major = device().capability / 10;
        *minor = device().capability % 10;
    });
}
DRIVER_API cuDeviceCanAccessPeer(int *can, int, int) {
    return guarded([=] { *can = 0; });
}
