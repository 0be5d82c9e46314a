#include "cpu_block.h"

#include <string>

#include <nlohmann/json.hpp>

#include "schedules/tuned_json.h" // generated: the text of schedules/tuned/*.json

namespace attune::tools {

namespace {

/** Whose sizes the kernels have that run on this CPU: those of f32 and f16, but for decoding on AMD's, are of the class avx512. */
std::string machine_of(attune_type type, bool decodes) {
    std::string cpu = attune_cpu_class();
    if (cpu == "x86-64") return cpu;
    const bool own = type == ATTUNE_BF16 || cpu == "avx2" || (decodes && cpu != "avx512_amx");
    return own ? "x86-64-" + cpu : "x86-64-avx512";
}

BlockSize tuned_block(attune_type type, const std::string &section, int32_t head_dim) {
    const std::string machine = machine_of(type, section == "decode");
    const nlohmann::json sizes = nlohmann::json::parse(schedules::tuned_json(machine)).at(section);
    const std::string exact = "head_dim " + std::to_string(head_dim);
    const nlohmann::json &chosen = sizes.at(sizes.contains(exact) ? exact : "any");
    return {chosen.value("rows_per_tile", 1), chosen.at("keys_per_panel")}; // decoding has no tiles of queries
}

} // namespace

BlockSize cpu_block(attune_type type, int32_t head_dim) { return tuned_block(type, "flash", head_dim); }

BlockSize cpu_block(const attune_kernel &kernel) {
    const std::string schedule = kernel.schedule;
    if (schedule == "decode") return tuned_block(kernel.dtype, "decode", kernel.head_dim);
    const bool in_parts = schedule.rfind("flash_bf16x", 0) == 0 && attune_cpu_class() == std::string("avx512_amx");
    return in_parts ? tuned_block(kernel.dtype, "flash_in_parts", kernel.head_dim) : cpu_block(kernel.dtype, kernel.head_dim);
}

} // namespace attune::tools
