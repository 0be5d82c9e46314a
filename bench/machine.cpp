#include "bench/machine.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include <unistd.h>

namespace attune::bench {
namespace {

/** The number in a file of /sys, 0 if there is none ("max" in a control group is none). A trailing K is 1024. */
int64_t read_number(const std::string &path) {
    std::ifstream file(path);
    int64_t value = 0;
    if (!(file >> value)) return 0;
    return file.get() == 'K' ? value * 1024 : value;
}

int64_t cache_from_sysfs() {
    int64_t largest = 0;
    for (int index = 0; index < 8; ++index) {
        const std::string cache = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
        largest = std::max(largest, read_number(cache + "/size"));
    }
    return largest;
}

int64_t mem_available() {
    std::ifstream file("/proc/meminfo");
    for (std::string key, unit; file >> key;) {
        int64_t kib = 0;
        file >> kib;
        std::getline(file, unit);
        if (key == "MemAvailable:") return kib * 1024;
    }
    return int64_t{sysconf(_SC_AVPHYS_PAGES)} * sysconf(_SC_PAGESIZE);
}

} // namespace

// sysconf may count a whole package's: 320 MiB on a Zen 4 that shares 32 with its neighbours.
int64_t last_level_cache_bytes() {
    constexpr int64_t unknown = int64_t{32} << 20;
    if (const int64_t size = cache_from_sysfs(); size > 0) return size;
    for (int name : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE})
        if (const int64_t size = sysconf(name); size > 0) return size;
    return unknown;
}

int64_t available_memory_bytes() {
    const int64_t limit = read_number("/sys/fs/cgroup/memory.max"), used = read_number("/sys/fs/cgroup/memory.current");
    return limit > 0 ? std::min(mem_available(), std::max<int64_t>(limit - used, 0)) : mem_available();
}

Rotation rotation_over(double bytes_read, double bytes_held) {
    constexpr int64_t most_copies = 1 << 16; // a copy costs some hundred bytes beside its tensors
    const auto wanted = static_cast<int64_t>(std::ceil(4.0 * double(last_level_cache_bytes()) / bytes_read));
    const auto fitting = static_cast<int64_t>(0.5 * double(available_memory_bytes()) / bytes_held);
    const int64_t limit = std::clamp<int64_t>(fitting, 1, most_copies);
    return {std::min(wanted, limit), wanted > limit};
}

} // namespace attune::bench
