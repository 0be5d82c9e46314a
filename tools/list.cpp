// `attune list`: what is linked in.
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "attune/attune.h"
#include "commands.h"
#include "table.h"

namespace attune::tools {
namespace {

std::vector<const attune_kernel *> kernels() {
    std::vector<const attune_kernel *> all;
    for (int32_t i = 0; i < attune_kernel_count(); ++i)
        all.push_back(attune_kernel_at(i));
    return all;
}

std::vector<std::string> targets(const attune_kernel &kernel) {
    std::vector<std::string> names;
    std::istringstream text(kernel.targets);
    for (std::string name; std::getline(text, name, ',');)
        names.push_back(name);
    return names;
}

/** The class of CPU a Halide target string is for, in the words of attune_cpu_class(). */
std::string cpu_class(const std::string &target) {
    if (target.find("avx512_zen4") != std::string::npos) return "avx512_bf16";
    for (const char *name : {"avx512", "avx2"})
        if (target.find(name) != std::string::npos) return name;
    return "x86-64";
}

std::string type_name(attune_type type) {
    return type == ATTUNE_BF16 ? "bf16" : type == ATTUNE_F16 ? "f16" : type == ATTUNE_I8 ? "i8" : "f32";
}

/** "f32", and of a kernel that reads a cache of another type "f32 (i8)". */
std::string type_text(const attune_kernel &kernel) {
    const std::string type = type_name(kernel.dtype);
    return kernel.cache_dtype == kernel.dtype ? type : fmt::format("{} ({})", type, type_name(kernel.cache_dtype));
}

std::string width_text(const attune_kernel &kernel) {
    if (kernel.head_dim == 0) return "any";
    return kernel.value_dim == kernel.head_dim ? fmt::format("{}", kernel.head_dim)
                                               : fmt::format("{}, {}", kernel.head_dim, kernel.value_dim);
}

void print_json() {
    nlohmann::ordered_json list = {{"cpu", attune_cpu_class()}, {"kernels", nlohmann::ordered_json::array()}};
    for (const attune_kernel *kernel : kernels()) {
        const std::vector<std::string> params(kernel->params, kernel->params + kernel->param_count);
        list["kernels"].push_back({{"name", kernel->name},
                                   {"operation", kernel->operation},
                                   {"schedule", kernel->schedule},
                                   {"dtype", type_name(kernel->dtype)},
                                   {"cache_dtype", type_name(kernel->cache_dtype)},
                                   {"head_dim", kernel->head_dim},
                                   {"value_dim", kernel->value_dim},
                                   {"mask", kernel->mask},
                                   {"score", kernel->score},
                                   {"position", kernel->position},
                                   {"params", params},
                                   {"targets", targets(*kernel)}});
    }
    fmt::print("{}\n", list.dump(2));
}

void print_table() {
    Table table{{"operation", "schedule", "type", "D", "mask", "targets", "kernel"}, std::vector<Align>(7, Align::left), {}};
    for (const attune_kernel *kernel : kernels()) {
        std::vector<std::string> classes;
        for (const std::string &target : targets(*kernel))
            classes.push_back(cpu_class(target));
        table.rows.push_back({kernel->operation, kernel->schedule, type_text(*kernel), width_text(*kernel),
                              *kernel->mask ? kernel->mask : "at run time", fmt::format("{}", fmt::join(classes, " ")), kernel->name});
    }
    table.print();
    fmt::print("\nThis CPU runs them as {}.\n", attune_cpu_class());
}

} // namespace

void add_list(CLI::App &parent) {
    CLI::App *list = parent.add_subcommand("list", "List the kernels, schedules and targets that are linked in");
    const auto json = std::make_shared<bool>(false);
    list->add_flag("--json", *json, "Print one JSON object")->disable_flag_override();
    list->callback([json] { *json ? print_json() : print_table(); });
}

} // namespace attune::tools
