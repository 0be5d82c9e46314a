// Which instructions this process' kernels may use.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/src/status.h"

namespace attune::runtime {

/** Each class runs what those before it do, but for the kernels of avx512_amx, which no other does: it is avx512 with tile registers, of
 * Intel's CPUs since Sapphire Rapids, and those after it are of AMD's, with pairs of bf16 multiplied as fast as numbers of f32. */
enum class CpuClass { x86_64, avx2, avx512, avx512_amx, avx512_bf16, avx512_zen5 };

const char *name_of(CpuClass cpu);

/** The class that is fastest on this CPU, or what ATTUNE_CPU asks for, no higher than what CPU and operating system offer. Read once. */
CpuClass cpu_class();

/** An error if ATTUNE_CPU is set to something that isn't a class. */
Status check_cpu_setting();

/** The fastest class of a CPU that offers `offered`, and tiles or not. Only AMD's multiply pairs of bf16 faster than numbers of f32. */
CpuClass fastest_class(CpuClass offered, bool tiles, bool amd);

/** The class `setting`, one of the names above, lowers `offered` to; without tiles avx512_amx means avx512. False if it names none. */
bool lower_class(const char *setting, CpuClass offered, bool tiles, CpuClass &lowered);

/** True if a kernel built for these comma-separated Halide targets has one the class `cpu` runs. Features beyond the classes (VNNI, AMX,
 * ...) are asked of the CPU. */
bool runs_on(const char *targets, CpuClass cpu);

/** The class that a Halide target is compiled for: the highest that one of its features belongs to. */
CpuClass class_of_target(std::string_view target);

/** Whether one of these comma-separated Halide targets is compiled for the class. */
bool has_code_for(const char *targets, CpuClass cpu);

} // namespace attune::runtime

/** Defined by programs that emulate tile instructions where a CPU has none: the project's tests. */
extern "C" __attribute__((weak)) bool attune_emulates_tiles();
