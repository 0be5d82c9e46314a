// The few functions of NVIDIA's driver that the command needs itself: memory, copies, time. The library has its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attune::tools {

/** A context on device 0, made the thread's current one, so that the library's calls run there. Errors are CommandErrors. */
class Gpu {
public:
    Gpu();
    ~Gpu();
    Gpu(const Gpu &) = delete;
    Gpu &operator=(const Gpu &) = delete;

    uint64_t allocate(int64_t bytes) const;
    void release(uint64_t pointer) const;
    void to_device(uint64_t to, const void *from, int64_t bytes) const;
    void to_host(void *to, uint64_t from, int64_t bytes) const;
    void copy(uint64_t to, uint64_t from, int64_t bytes) const; // on the default stream; doesn't wait
    void wait() const;                                          // for all that was launched
    int64_t free_bytes() const;
    int64_t attribute(int which) const; // of cuDeviceGetAttribute
    int driver_version() const;         // of CUDA that it is for: 12040

private:
    struct Functions;
    static const Functions &functions();
};

/** Times what is launched on the default stream, by events. There is a Gpu meanwhile. */
class GpuTimer {
public:
    GpuTimer();
    ~GpuTimer();
    GpuTimer(const GpuTimer &) = delete;
    GpuTimer &operator=(const GpuTimer &) = delete;

    template <typename Run> double seconds(const Run &run) const {
        record(begin_);
        run();
        record(end_);
        return elapsed();
    }

private:
    struct Functions;
    static const Functions &functions();
    void record(void *event) const;
    double elapsed() const;

    void *begin_ = nullptr, *end_ = nullptr;
};

} // namespace attune::tools
