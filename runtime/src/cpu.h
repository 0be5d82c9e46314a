// Which instructions this process' kernels may use.
#pragma once

#include <cstdint>

#include "status.h"

namespace attune::runtime {

/** Each class includes those before it. */
enum class CpuClass { x86_64, avx2, avx512, avx512_bf16, avx512_zen5 };

const char *name_of(CpuClass cpu);

/** The class that is fastest on this CPU, or what ATTUNE_CPU asks for, no higher than what CPU and operating system offer. Read once. */
CpuClass cpu_class();

/** An error if ATTUNE_CPU is set to something that isn't a class. */
Status check_cpu_setting();

/** The fastest class of a CPU that offers `offered`. Only AMD's multiply pairs of bf16 faster than numbers of f32. */
CpuClass fastest_class(CpuClass offered, bool amd);

/** The class `setting`, one of the names above, lowers `offered` to; false if it names none. */
bool lower_class(const char *setting, CpuClass offered, CpuClass &lowered);

/** True if a kernel built for these comma-separated Halide targets has one the class `cpu` runs. Features beyond the classes (VNNI, AMX,
 * ...) are asked of the CPU. */
bool runs_on(const char *targets, CpuClass cpu);

} // namespace attune::runtime
