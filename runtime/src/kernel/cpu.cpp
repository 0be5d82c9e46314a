#include "runtime/src/kernel/cpu.h"

#include <algorithm>
#include <cpuid.h>
#include <cstdlib>
#include <string_view>

#include <sys/syscall.h>
#include <unistd.h>

namespace attune::runtime {

namespace {

constexpr CpuClass classes[] = {CpuClass::x86_64,     CpuClass::avx2,        CpuClass::avx512,
                                CpuClass::avx512_amx, CpuClass::avx512_bf16, CpuClass::avx512_zen5};

/** AMD's family 0x1A, or a later one. */
bool is_zen5() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (!__builtin_cpu_is("amd") || __get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
    const unsigned family = (eax >> 8 & 0xf) + (eax >> 20 & 0xff);
    return family >= 0x1a;
}

/** Asked of CPUID: clang before 15 doesn't know the name. */
bool has_avx_vnni() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> 4 & 1) != 0;
}

/** Whether the CPU has tiles and multiplies those of bf16, the operating system saves them, and lets this process use them: Linux gives
 * them to those that ask. Asked once, for all threads. True too where the program emulates them. */
bool has_tiles() {
    static const bool has = [] {
        if (attune_emulates_tiles && attune_emulates_tiles()) return true;
        unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
        constexpr unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24;
        if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx & amx_bf16) == 0 || (edx & amx_tile) == 0) return false;
        constexpr long request_permission = 0x1023, tile_data = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
        return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
    }();
    return has;
}

/** Halide's names of sets of AVX-512 that the classes before avx512_bf16 don't settle. Knight's Landing's and unknown ones are taken as not
 * there. */
bool has_extension(std::string_view feature) {
    if (feature == "avx512_cannonlake") return __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi");
    if (feature == "avx512_zen5") return has_extension("avx512_zen4") && has_avx_vnni() && is_zen5();
    if (feature == "avx512_sapphirerapids") return has_extension("avx512_zen4") && has_tiles();
    if (feature == "avx512_zen4")
        return has_extension("avx512_cannonlake") && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16") &&
               __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bitalg");
    return feature.substr(0, 7) != "avx512_" || feature == "avx512_skylake";
}

// F16C alone is asked of CPUID: Clang didn't know its name for long (16 doesn't). Its registers are AVX's.
bool has_f16c() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

// __builtin_cpu_supports also asks XGETBV whether the operating system saves the registers. Halide 21's own check doesn't on AMD's
// family 0x1A.
CpuClass offered_class() {
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    if (!avx2) return CpuClass::x86_64;
    if (!avx512) return CpuClass::avx2;
    if (!has_extension("avx512_zen4")) return CpuClass::avx512;
    return has_extension("avx512_zen5") ? CpuClass::avx512_zen5 : CpuClass::avx512_bf16;
}

struct Choice {
    CpuClass cpu;
    std::string rejected; // what ATTUNE_CPU is, if it names no class
};

// A process that has asked for tiles can't set alternate signal stacks any more that are too small for them: asked only where they'd be
// used.
Choice choose() {
    const CpuClass offered = offered_class();
    const bool amd = __builtin_cpu_is("amd");
    const char *setting = std::getenv("ATTUNE_CPU");
    const bool wanted = setting ? std::string_view(setting) == name_of(CpuClass::avx512_amx) : !amd;
    const bool tiles = wanted && offered >= CpuClass::avx512_bf16 && has_extension("avx512_sapphirerapids");
    Choice choice = {fastest_class(offered, tiles, amd), ""};
    if (setting && !lower_class(setting, offered, tiles, choice.cpu)) choice.rejected = setting[0] ? setting : "empty";
    return choice;
}

const Choice &choice() {
    static const Choice made = choose();
    return made;
}

CpuClass class_of_feature(std::string_view feature) {
    if (feature == "avx512_zen5") return CpuClass::avx512_zen5;
    if (feature == "avx512_zen4") return CpuClass::avx512_bf16;
    if (feature == "avx512_sapphirerapids") return CpuClass::avx512_amx;
    if (feature.substr(0, 6) == "avx512") return CpuClass::avx512;
    return feature.substr(0, 3) == "avx" || feature == "fma" || feature == "f16c" ? CpuClass::avx2 : CpuClass::x86_64;
}

/** Cuts the part before the next `separator` off `text`. */
std::string_view take(std::string_view &text, char separator) {
    const size_t end = text.find(separator);
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return part;
}

bool target_runs_on(std::string_view target, CpuClass cpu) {
    take(target, '-'); // "x86"
    while (!target.empty()) {
        const std::string_view feature = take(target, '-');
        const CpuClass needed = class_of_feature(feature);
        if (needed > cpu || (needed == CpuClass::avx512_amx && cpu != needed) || !has_extension(feature)) return false;
    }
    return true;
}

} // namespace

const char *name_of(CpuClass cpu) {
    switch (cpu) {
    case CpuClass::avx512_zen5:
        return "avx512_zen5";
    case CpuClass::avx512_bf16:
        return "avx512_bf16";
    case CpuClass::avx512_amx:
        return "avx512_amx";
    case CpuClass::avx512:
        return "avx512";
    case CpuClass::avx2:
        return "avx2";
    case CpuClass::x86_64:
        break;
    }
    return "x86-64";
}

bool lower_class(const char *setting, CpuClass offered, bool tiles, CpuClass &lowered) {
    for (CpuClass cpu : classes) {
        if (std::string_view(setting) != name_of(cpu)) continue;
        lowered = cpu < offered ? cpu : offered;
        if (lowered == CpuClass::avx512_amx && !tiles) lowered = CpuClass::avx512;
        return true;
    }
    return false;
}

// On Emerald Rapids vdpbf16ps is issued every other cycle, beside two f32 multiply-adds a cycle: 89 GFLOP/s against 179.
CpuClass fastest_class(CpuClass offered, bool tiles, bool amd) {
    if (offered < CpuClass::avx512_bf16 || amd) return offered;
    return tiles ? CpuClass::avx512_amx : CpuClass::avx512;
}

CpuClass cpu_class() { return choice().cpu; }

Status check_cpu_setting() {
    ATTUNE_REQUIRE(choice().rejected.empty(),
                   "the environment's ATTUNE_CPU is {}; it must be avx512_zen5, avx512_bf16, avx512_amx, avx512, avx2 or x86-64",
                   choice().rejected);
    return {};
}

CpuClass class_of_target(std::string_view target) {
    CpuClass highest = CpuClass::x86_64;
    while (!target.empty())
        highest = std::max(highest, class_of_feature(take(target, '-')));
    return highest;
}

bool has_code_for(const char *targets, CpuClass cpu) {
    std::string_view rest = targets;
    while (!rest.empty())
        if (class_of_target(take(rest, ',')) == cpu) return true;
    return false;
}

bool runs_on(const char *targets, CpuClass cpu) {
    std::string_view rest = targets;
    while (!rest.empty())
        if (target_runs_on(take(rest, ','), cpu)) return true;
    return false;
}

} // namespace attune::runtime

extern "C" const char *attune_cpu_class(void) {
    try {
        return attune::runtime::name_of(attune::runtime::cpu_class());
    } catch (...) { // no memory to keep what ATTUNE_CPU says: runs say so, too
        return attune::runtime::name_of(attune::runtime::CpuClass::x86_64);
    }
}
