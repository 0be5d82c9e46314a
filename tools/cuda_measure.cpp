#include "cuda_measure.h"

#include <cstring>
#include <ctime>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/elements.h"

namespace attune::tools {
namespace {

constexpr int clock_khz = 13, memory_clock_khz = 36; // of cuDeviceGetAttribute

int64_t bytes_of(attune_type type, const Shape &shape) {
    int64_t bytes = element_bytes(type);
    for (int64_t extent : shape)
        bytes *= extent;
    return bytes;
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm day = {};
    gmtime_r(&now, &day);
    return fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
}

} // namespace

GpuTensors::~GpuTensors() {
    for (uint64_t pointer : memory_)
        gpu_.release(pointer);
}

TensorView GpuTensors::empty(attune_type type, const Shape &shape) {
    memory_.push_back(gpu_.allocate(bytes_of(type, shape)));
    void *data = nullptr;
    std::memcpy(&data, &memory_.back(), sizeof(data)); // the number is an address
    attune_tensor tensor = attune_contiguous(data, type, static_cast<int32_t>(shape.size()), shape.data());
    tensor.device = ATTUNE_CUDA;
    return tensor;
}

TensorView GpuTensors::random(attune_type type, const Shape &shape) {
    constexpr int64_t block = 1 << 20; // elements
    const TensorView made = empty(type, shape);
    const int64_t all = bytes_of(type, shape), first = std::min(all, block * element_bytes(type)), count = first / element_bytes(type);
    const uint64_t to = memory_.back();
    std::mt19937_64 random(7);
    gpu_.to_device(to, bench::stored(bench::normal(count, type, random), type, count).get(), first);
    for (int64_t done = first; done < all; done *= 2)
        gpu_.copy(to + static_cast<uint64_t>(done), to, std::min(done, all - done));
    return made;
}

CudaMeasure::CudaMeasure(double seconds) : seconds_(seconds), copy_gbps_(measure_copying()) {}

double CudaMeasure::measure_copying() const {
    const int64_t bytes = uncached_bytes();
    GpuTensors tensors(gpu_);
    const TensorView from = tensors.random(ATTUNE_F32, {bytes / 4}), to = tensors.empty(ATTUNE_F32, {bytes / 4});
    const auto address = [](const TensorView &tensor) { return reinterpret_cast<uintptr_t>(tensor.data); };
    return 2e-9 * double(bytes) / median_seconds([&] { gpu_.copy(address(to), address(from), bytes); });
}

nlohmann::ordered_json CudaMeasure::facts() const {
    const int version = gpu_.driver_version();
    return {{"date", today()},
            {"gpu", cuda_device_name()},
            {"driver", fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10)},
            {"clock_mhz", gpu_.attribute(clock_khz) / 1000},
            {"memory_clock_mhz", gpu_.attribute(memory_clock_khz) / 1000},
            {"copy_gbps", copy_gbps_}};
}

} // namespace attune::tools
