// Time and memory of a GPU, for what is benchmarked on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "array.h"
#include "attune/attune.hpp"
#include "gpu.h"

namespace attune::tools {

/** Tensors in the GPU's memory, freed with the object. */
class GpuTensors {
public:
    explicit GpuTensors(const Gpu &gpu) : gpu_(gpu) {}
    ~GpuTensors();
    GpuTensors(const GpuTensors &) = delete;
    GpuTensors &operator=(const GpuTensors &) = delete;

    TensorView empty(attune_type type, const Shape &shape);
    /** Normally distributed numbers: a million of them over and over. */
    TensorView random(attune_type type, const Shape &shape);

private:
    const Gpu &gpu_;
    std::vector<uint64_t> memory_;
};

class CudaMeasure {
public:
    /** `seconds` of timing for each thing. Measures how fast memory is copied. */
    explicit CudaMeasure(double seconds);

    const Gpu &gpu() const { return gpu_; }
    /** Of reading and writing together, between tensors that outgrow the cache. */
    double copy_gbps() const { return copy_gbps_; }
    /** Bytes that no longer fit into the second-level cache: four times as many as it has. */
    int64_t uncached_bytes() const { return 4 * gpu_.attribute(l2_cache_bytes); }
    /** What figures mean nothing without: the day, the device, its driver, its highest clocks, and the rate of copying. */
    nlohmann::ordered_json facts() const;

    /** The median over batches of runs of one run's seconds, by CUDA events. */
    template <typename Run> double median_seconds(const Run &run) const {
        for (int i = 0; i < warm_up; ++i)
            run();
        const double once = timer_.seconds(run);
        const int runs = static_cast<int>(std::clamp(batch_seconds / std::max(once, 1e-7), 1.0, 1000.0));
        std::vector<double> samples;
        for (double spent = 0; spent < seconds_ || samples.size() < least_batches;) {
            samples.push_back(timer_.seconds([&] {
                for (int i = 0; i < runs; ++i)
                    run();
            }));
            spent += samples.back();
            samples.back() /= runs;
        }
        std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end());
        return samples[samples.size() / 2];
    }

private:
    static constexpr int warm_up = 3, least_batches = 5;
    static constexpr double batch_seconds = 0.02; // long beside an event's resolution of half a microsecond
    static constexpr int l2_cache_bytes = 38;     // of cuDeviceGetAttribute

    double measure_copying() const;

    Gpu gpu_;
    GpuTimer timer_;
    double seconds_, copy_gbps_;
};

} // namespace attune::tools
