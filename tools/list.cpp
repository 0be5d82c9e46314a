// `attune list`: what is linked in.
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "attune/attune.hpp"
#include "commands.h"
#include "device.h"
#include "runtime/src/kernel/cpu.h"
#include "table.h"

namespace attune::tools {
namespace {

struct ListOptions {
    std::string device; // empty: all
    bool json = false;
};

std::vector<const attune_kernel *> kernels(const std::string &device) {
    std::vector<const attune_kernel *> wanted;
    for (int32_t i = 0; i < attune_kernel_count(); ++i)
        if (device.empty() || device == attune_device_name(attune_kernel_at(i)->device)) wanted.push_back(attune_kernel_at(i));
    return wanted;
}

std::vector<std::string> targets(const attune_kernel &kernel) {
    std::vector<std::string> names;
    std::istringstream text(kernel.targets);
    for (std::string name; std::getline(text, name, ',');)
        names.push_back(name);
    return names;
}

/** A target in a word: a GPU's architecture as it is, of a Halide target string the class of CPU, as attune_cpu_class() has it. */
std::string target_text(const attune_kernel &kernel, const std::string &target) {
    if (kernel.device == ATTUNE_CUDA) return target;
    return runtime::name_of(runtime::class_of_target(target));
}

/** "f32", and of a kernel that reads a cache of another type "f32 (i8)". */
std::string type_text(const attune_kernel &kernel) {
    const std::string type = attune_type_name(kernel.dtype);
    return kernel.cache_dtype == kernel.dtype ? type : fmt::format("{} ({})", type, attune_type_name(kernel.cache_dtype));
}

std::string width_text(const attune_kernel &kernel) {
    if (kernel.head_dim == 0) return "any";
    return kernel.value_dim == kernel.head_dim ? fmt::format("{}", kernel.head_dim)
                                               : fmt::format("{}, {}", kernel.head_dim, kernel.value_dim);
}

/** Empty of what takes no mask. */
std::string mask_text(const attune_kernel &kernel) {
    if (*kernel.mask) return kernel.mask;
    return std::string(kernel.operation).rfind("attention", 0) == 0 ? "at run time" : "";
}

void print_json(const ListOptions &options) {
    nlohmann::ordered_json list = {{"cpu", attune_cpu_class()}, {"gpu", cuda_device_name()}, {"kernels", nlohmann::ordered_json::array()}};
    for (const attune_kernel *kernel : kernels(options.device)) {
        const std::vector<std::string> params(kernel->params, kernel->params + kernel->param_count);
        list["kernels"].push_back({{"name", kernel->name},
                                   {"operation", kernel->operation},
                                   {"schedule", kernel->schedule},
                                   {"device", attune_device_name(kernel->device)},
                                   {"dtype", attune_type_name(kernel->dtype)},
                                   {"cache_dtype", attune_type_name(kernel->cache_dtype)},
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

void print_table(const ListOptions &options) {
    Table table{{"operation", "schedule", "device", "type", "D", "mask", "targets", "kernel"}, std::vector<Align>(8, Align::left), {}};
    for (const attune_kernel *kernel : kernels(options.device)) {
        std::vector<std::string> classes;
        for (const std::string &target : targets(*kernel))
            classes.push_back(target_text(*kernel, target));
        table.rows.push_back({kernel->operation, kernel->schedule, attune_device_name(kernel->device), type_text(*kernel),
                              width_text(*kernel), mask_text(*kernel), fmt::format("{}", fmt::join(classes, " ")), kernel->name});
    }
    table.print();
    fmt::print("\nThis CPU runs them as {}.\n", attune_cpu_class());
    const Status gpu = cuda_status();
    fmt::print("{}\n", gpu ? fmt::format("The GPU is {}.", cuda_device_name()) : fmt::format("No GPU: {}.", gpu.message));
}

} // namespace

void add_list(CLI::App &parent) {
    CLI::App *list = parent.add_subcommand("list", "List the kernels, schedules and targets that are linked in");
    const auto options = std::make_shared<ListOptions>();
    add_device(*list, options->device, "cpu or cuda: kernels for that alone; all by default");
    list->add_flag("--json", options->json, "Print one JSON object")->disable_flag_override();
    list->callback([options] { options->json ? print_json(*options) : print_table(*options); });
}

} // namespace attune::tools
