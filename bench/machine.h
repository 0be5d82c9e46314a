// What this machine can do at most: the limits that rates are shares of.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "attune/attune.h"

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
 * attune_cpu_class() multiply operands of a type with: f32 multiply-adds in the widest vectors, for bf16 vdpbf16ps on the classes
 * avx512_bf16 and avx512_zen5, and products of tiles on avx512_amx. Plain x86-64 has no fused form: there it multiplies, then adds.
 * Sampled in bursts of 5 ms spread over the program's run, so that clocks and neighbours that change meet the peak and what is
 * compared with it alike. */
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

/** The rate of moving memory, in GB/s (10^9): of the fastest of all passes, which are sampled as FmaPeak's bursts are. */
class Bandwidth {
public:
    /** `pass`: moves the memory, and returns the rate; called three times here. */
    explicit Bandwidth(std::function<double()> pass);
    /** One more pass, unless the last was less than 250 ms ago. */
    void sample();
    double gbps() const { return gbps_; }

private:
    std::function<double()> pass_;
    double last_ = 0; // when the last pass ended
    double gbps_ = 0;
};

/** Of reading from memory by `threads` threads at once, in one stream and in four, over a buffer of four times the last-level cache, at
 * most 1 GiB, or of `bytes_at_once` if that is more; of half of the available memory at most. Of a smaller buffer a cache holds a larger
 * part, so that what reads much is compared with as large a read; and a shared machine's memory is faster for milliseconds than it is for a
 * tenth of a second, so that each pass reads `bytes_at_once`. 0 if there is no memory for it. */
Bandwidth read_bandwidth(int32_t threads, int64_t bytes_at_once = 0);

/** Of copying such a buffer by `threads` threads, read and written together, with ordinary stores or past the caches, whichever is faster.
 * 0 if there is no memory for it. */
Bandwidth copy_bandwidth(int32_t threads);

} // namespace attune::bench
