#include "runtime/src/cuda/device.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "runtime/src/error.h"
#include "runtime/src/tensor/joined_axes.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

constexpr int least_capability = 75;

// Of cuDeviceGetAttribute.
constexpr int capability_major = 75, capability_minor = 76;

/** The primary context of device 0, retained once and for good: it is the one that CUDA's runtime and PyTorch use. */
Status primary_context(const CudaDriver &driver, CudaHandle &context) {
    static std::mutex mutex;
    static CudaHandle retained = nullptr;
    const std::lock_guard<std::mutex> lock(mutex);
    if (!retained) ATTUNE_TRY(check_cuda(driver, driver.retain_primary_context(&retained, 0), "make a context on device 0"));
    context = retained;
    return {};
}

Status check_count(const CudaDriver &driver) {
    int count = 0;
    ATTUNE_TRY(check_cuda(driver, driver.device_count(&count), "count the devices"));
    return count > 0 ? Status() : fail(ATTUNE_UNSUPPORTED, "device cuda can't be used: the driver finds no GPU");
}

Status read_capability(const CudaDriver &driver, int ordinal, int &capability) {
    static std::atomic<int> known[64];
    const bool remembered = ordinal >= 0 && ordinal < 64;
    if (remembered) capability = known[ordinal];
    if (capability > 0) return {};
    int major = 0, minor = 0;
    ATTUNE_TRY(check_cuda(driver, driver.device_attribute(&major, capability_major, ordinal), "read the compute capability"));
    ATTUNE_TRY(check_cuda(driver, driver.device_attribute(&minor, capability_minor, ordinal), "read the compute capability"));
    capability = 10 * major + minor;
    if (remembered) known[ordinal] = capability;
    return {};
}

std::string name_of_device(const CudaDevice &device) {
    char name[128] = "";
    if (device.driver->device_name(name, sizeof(name), device.ordinal) != 0 || !name[0]) return "a GPU without a name";
    return name;
}

/** What follows `prefix` in `word` as a number; -1 if it doesn't begin with it. */
int number_after(std::string_view word, std::string_view prefix) {
    if (word.substr(0, prefix.size()) != prefix) return -1;
    return std::atoi(std::string(word.substr(prefix.size())).c_str());
}

/** Machine code runs on its own major version from its minor one on, PTX on all from its own on; with an `a` each on that one alone. */
bool target_runs(std::string_view target, int capability) {
    const int virtual_arch = number_after(target, "compute_"), arch = std::max(virtual_arch, number_after(target, "sm_"));
    if (arch < 0) return false;
    if (target.back() == 'a') return capability == arch;
    return capability >= arch && (virtual_arch >= 0 || capability / 10 == arch / 10);
}

/** A tensor's elements as one rectangle of bytes, repeated over the axes before `looped`. */
struct Rectangle {
    size_t width, height, pitch; // bytes, rows, bytes
    int32_t looped;
};

Rectangle rectangle_of(const attune_tensor &t) {
    const size_t size = attune_type_size(t.type);
    const int32_t last = t.rank - 1;
    const auto bytes = [&](int32_t axis) { return static_cast<size_t>(effective_stride(t, axis)) * size; };
    if (t.extent[last] > 1 && t.stride[last] != 1) return {size, static_cast<size_t>(t.extent[last]), bytes(last), last};
    const size_t width = static_cast<size_t>(t.extent[last]) * size;
    if (t.rank == 1) return {width, 1, width, 0};
    const bool one = t.extent[last - 1] == 1;
    return {width, static_cast<size_t>(t.extent[last - 1]), one ? width : bytes(last - 1), last - 1};
}

} // namespace

Status find_cuda_device(CudaDevice &device) {
    ATTUNE_TRY(load_cuda_driver(device.driver));
    const CudaDriver &driver = *device.driver;
    ATTUNE_TRY(check_count(driver));
    ATTUNE_TRY(check_cuda(driver, driver.current_context(&device.context), "find the thread's context"));
    if (device.context)
        ATTUNE_TRY(check_cuda(driver, driver.current_device(&device.ordinal), "find the context's device"));
    else
        ATTUNE_TRY(primary_context(driver, device.context));
    ATTUNE_TRY(read_capability(driver, device.ordinal, device.capability));
    if (device.capability >= least_capability) return {};
    return fail(ATTUNE_UNSUPPORTED, "device cuda can't be used: {} has compute capability {}; Attune's kernels need {} or more",
                name_of_device(device), capability_text(device.capability), capability_text(least_capability));
}

std::string capability_text(int capability) { return formatted("{}.{}", capability / 10, capability % 10); }

std::string describe(const CudaDevice &device) {
    return formatted("{}, compute capability {}", name_of_device(device), capability_text(device.capability));
}

bool runs_on_cuda(const char *targets, int capability) {
    std::string_view rest = targets;
    while (!rest.empty()) {
        const size_t end = std::min(rest.find(','), rest.size());
        if (end > 0 && target_runs(rest.substr(0, end), capability)) return true;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
}

void use_device(const CudaDevice &device, Call &call) { call.context().cuda_context = device.context; }

attune_tensor or_stand_in_on_device(const attune_tensor *given, const attune_tensor &instead, attune_type type, int32_t rank) {
    if (given) return *given;
    const int64_t extents[4] = {1, 1, 1, 1};
    return contiguous_on_device(instead.data, type, rank, extents);
}

CurrentContext::CurrentContext(const CudaDevice &device) : device_(device), pushed_(device.driver->push_context(device.context) == 0) {}

CurrentContext::~CurrentContext() {
    if (!pushed_) return; // the caller's own is still on top
    CudaHandle popped = nullptr;
    device_.driver->pop_context(&popped);
}

Status fill_on_device(const CudaDevice &device, const attune_tensor &t, uint32_t bits, Call &call) {
    if (!has_elements(t)) return {};
    const CurrentContext current(device);
    const CudaDriver &driver = *device.driver;
    const CudaHandle stream = call.context().cuda_stream;
    const Rectangle r = rectangle_of(t);
    const JoinedAxes axes({&t}, r.looped);
    JoinedAxes::Index index;
    do {
        const auto to = reinterpret_cast<CudaPointer>(element_at(t, index.elements[0]));
        const CudaResult result = bits == 0 ? driver.fill_bytes(to, r.pitch, 0, r.width, r.height, stream)
                                            : driver.fill_words(to, r.pitch, bits, r.width / 4, r.height, stream);
        ATTUNE_TRY(check_cuda(driver, result, "fill an output"));
    } while (axes.advance(index));
    return {};
}

} // namespace attune::runtime

using namespace attune::runtime;

extern "C" attune_status attune_cuda_status(void) {
    return guarded([]() -> Status {
        CudaDevice device;
        return find_cuda_device(device);
    });
}

extern "C" const char *attune_cuda_device_name(void) {
    thread_local char name[256]; // needs no memory, and nothing when its thread ends: see error.cpp
    name[0] = '\0';
    try {
        CudaDevice device;
        if (!find_cuda_device(device).ok()) return name;
        const std::string described = describe(device);
        name[described.copy(name, sizeof(name) - 1)] = '\0';
    } catch (...) {
        name[0] = '\0';
    }
    return name;
}
