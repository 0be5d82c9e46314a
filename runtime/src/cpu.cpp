#include "cpu.h"

#include <cpuid.h>
#include <cstdlib>
#include <string_view>

namespace attune::runtime {

namespace {

constexpr CpuClass classes[] = {CpuClass::x86_64, CpuClass::avx2, CpuClass::avx512, CpuClass::avx512_bf16, CpuClass::avx512_zen5};

/** AMD's family 0x1A, or a later one. */
bool is_zen5() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (!__builtin_cpu_is("amd") || __get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return false;
    const unsigned family = (eax >> 8 & 0xf) + (eax >> 20 & 0xff);
    return family >= 0x1a;
}

/** Halide's names of sets of AVX-512 that the classes before avx512_bf16 don't settle. Knight's Landing's and unknown ones are taken as not
 * there. */
bool has_extension(std::string_view feature) {
    if (feature == "avx512_cannonlake") return __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi");
    if (feature == "avx512_zen5") return has_extension("avx512_zen4") && __builtin_cpu_supports("avxvnni") && is_zen5();
    if (feature == "avx512_zen4" || feature == "avx512_sapphirerapids")
        return has_extension("avx512_cannonlake") && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16") &&
               __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bitalg");
    return feature.substr(0, 7) != "avx512_" || feature == "avx512_skylake";
}

// F16C alone is asked of CPUID: clang before 15 doesn't know its name. Its registers are AVX's.
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

Choice choose() {
    const CpuClass offered = offered_class();
    Choice choice = {fastest_class(offered, __builtin_cpu_is("amd")), ""};
    const char *setting = std::getenv("ATTUNE_CPU");
    if (setting && !lower_class(setting, offered, choice.cpu)) choice.rejected = setting[0] ? setting : "empty";
    return choice;
}

const Choice &choice() {
    static const Choice made = choose();
    return made;
}

CpuClass class_of_feature(std::string_view feature) {
    if (feature == "avx512_zen5") return CpuClass::avx512_zen5;
    if (feature == "avx512_zen4") return CpuClass::avx512_bf16;
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
        if (class_of_feature(feature) > cpu || !has_extension(feature)) return false;
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
    case CpuClass::avx512:
        return "avx512";
    case CpuClass::avx2:
        return "avx2";
    case CpuClass::x86_64:
        break;
    }
    return "x86-64";
}

bool lower_class(const char *setting, CpuClass offered, CpuClass &lowered) {
    for (CpuClass cpu : classes) {
        if (std::string_view(setting) != name_of(cpu)) continue;
        lowered = cpu < offered ? cpu : offered;
        return true;
    }
    return false;
}

// On Emerald Rapids vdpbf16ps is issued every other cycle, beside two f32 multiply-adds a cycle: 89 GFLOP/s against 179.
CpuClass fastest_class(CpuClass offered, bool amd) { return offered >= CpuClass::avx512_bf16 && !amd ? CpuClass::avx512 : offered; }

CpuClass cpu_class() { return choice().cpu; }

Status check_cpu_setting() {
    ATTUNE_REQUIRE(choice().rejected.empty(),
                   "the environment's ATTUNE_CPU is {}; it must be avx512_zen5, avx512_bf16, avx512, avx2 or x86-64", choice().rejected);
    return {};
}

bool runs_on(const char *targets, CpuClass cpu) {
    std::string_view rest = targets;
    while (!rest.empty())
        if (target_runs_on(take(rest, ','), cpu)) return true;
    return false;
}

} // namespace attune::runtime

extern "C" const char *attune_cpu_class(void) { return attune::runtime::name_of(attune::runtime::cpu_class()); }
