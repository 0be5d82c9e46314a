// What this machine can do at most: the limits that rates are shares of.
#pragma once

#include <array>
#include <cstdint>

#include "attune/attune.h"
#include "bench/buffer.h"

namespace attune::bench {

/** Bytes of the last-level cache, from sysfs or sysconf; 32 MiB where neither knows. */
int64_t last_level_cache_bytes();

/** Bytes this process can still use: /proc/meminfo's MemAvailable, or what its control group leaves if that is less. */
int64_t available_memory_bytes();

/** How many copies of tensors to time over, in turn. */
struct Rotation {
    int64_t copies = 1;
    bool capped = false; // fewer than four times the last-level cache needs: memory allows no more, or they are too many
};

/** Enough copies, of which a call reads `bytes_read` and that hold `bytes_held`, that reading them outgrows four times the last-level
 * cache, in at most half of the available memory; at least one. */
Rotation rotation_over(double bytes_read, double bytes_held);

/** The rate of multiply-adds, counted as 2 operations each, on `threads` threads at once, by the instruction that kernels of
 * attune_cpu_class() multiply operands of a type with: f32 multiply-adds in the widest vectors, and vdpbf16ps for bf16 on the class
 * avx512_bf16. Plain x86-64 has no fused form: there it multiplies, then adds. Sampled in bursts of 5 ms spread over the
 * program's run, so that clocks and neighbours that change meet the peak and what is compared with it alike. */
class FmaPeak {
public:
    explicit FmaPeak(int32_t threads, attune_type type = ATTUNE_F32); // takes some 100 ms
    /** One more burst, unless the last was less than 50 ms ago. */
    void sample();
    /** GFLOP/s of the third fastest burst: a single one was seen 20 % above all the others. */
    double gflops() const;

private:
    void burst();

    int32_t threads_;
    attune_type type_;
    int64_t steps_;                   // of the loop in a burst
    double last_ = 0;                 // when the last burst ended
    std::array<double, 3> fastest_{}; // GFLOP/s, descending
};

/** GB/s (10^9) read from memory by `threads` threads at once: the fastest of all passes, in one stream and in four, over a buffer of
 * four times the last-level cache, at most 1 GiB, or of `bytes_at_once` if that is more; of half of the available memory at most. Of a
 * smaller buffer a cache holds a larger part, so that what reads much is compared with as large a read; and a shared machine's memory is
 * faster for milliseconds than it is for a tenth of a second, so that each pass reads `bytes_at_once`. Sampled as FmaPeak is. */
class ReadBandwidth {
public:
    explicit ReadBandwidth(int32_t threads, int64_t bytes_at_once = 0); // three passes
    /** One more pass, unless the last was less than 250 ms ago. */
    void sample();
    /** 0 if there was no memory for the buffer. */
    double gbps() const { return gbps_; }

private:
    void pass();

    int32_t threads_;
    int64_t bytes_, rounds_; // of the buffer; over it in a pass
    Buffer buffer_;
    double last_ = 0, gbps_ = 0;
};

/** GB/s (10^9) read and written together by `threads` threads that copy such a buffer, with ordinary stores or past the caches, whichever
 * is faster: likewise. */
class CopyBandwidth {
public:
    explicit CopyBandwidth(int32_t threads);
    void sample();
    double gbps() const { return gbps_; }

private:
    void pass();

    int32_t threads_;
    int64_t bytes_; // of each buffer
    Buffer from_, to_;
    double last_ = 0, gbps_ = 0;
};

} // namespace attune::bench
