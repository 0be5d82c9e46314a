// Launches. A kernel has run when the call returns, and the call says how it went.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "../run/grid.h"
#include "driver.h"

namespace attune::emulator {
namespace {

bool is_set(const char *variable) {
    const char *value = std::getenv(variable);
    return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

unsigned threads_from_environment() {
    const char *value = std::getenv("ATTUNE_EMULATOR_THREADS");
    const long count = value != nullptr ? std::strtol(value, nullptr, 10) : 0;
    return count > 0 ? static_cast<unsigned>(std::min(count, 256l)) : std::max(std::thread::hardware_concurrency(), 1u);
}

Error refused(const Function &function, const std::string &why) {
    return Error(Status::invalid_value, "kernel " + function.program->kernel.name + " can't be launched: " + why);
}

std::string triple(const uint32_t *sizes) {
    return std::to_string(sizes[0]) + " x " + std::to_string(sizes[1]) + " x " + std::to_string(sizes[2]);
}

void check_block(const Function &function, const Launch &launch) {
    const PtxKernel &kernel = function.program->kernel;
    const uint64_t threads = uint64_t(launch.block[0]) * launch.block[1] * launch.block[2];
    const uint32_t *max = kernel.max_threads, *required = kernel.required_threads;
    if (threads == 0 || threads > 1024 || launch.block[2] > 64)
        throw refused(function, "a block of " + triple(launch.block) + " threads is not 1 to 1024");
    if (max[0] != 0 && threads > uint64_t(max[0]) * max[1] * max[2]) {
        throw refused(function, "a block of " + triple(launch.block) + " threads is above .maxntid " + triple(max));
    }
    if (required[0] != 0 && !std::equal(required, required + 3, launch.block)) {
        throw refused(function, "a block of " + triple(launch.block) + " threads is not the .reqntid " + triple(required));
    }
    if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0 || launch.grid[0] > 0x7fffffff || launch.grid[1] > 65535 ||
        launch.grid[2] > 65535) {
        throw refused(function, "a grid of " + triple(launch.grid) + " blocks is not possible");
    }
}

void check_shared(const Function &function, const Launch &launch) {
    const uint64_t fixed = function.program->static_shared;
    const uint64_t limit = std::max(shared_without_opt_in, function.dynamic_shared_limit + fixed);
    if (fixed + launch.dynamic_shared <= limit) return;
    throw refused(function, std::to_string(fixed + launch.dynamic_shared) + " bytes of shared memory are above the limit of " +
                                std::to_string(limit) +
                                (launch.dynamic_shared + fixed <= device().shared_opt_in
                                     ? "; cuFuncSetAttribute raises it"
                                     : "; the device has " + std::to_string(device().shared_opt_in)));
}

/** From an array of pointers, or from a buffer that `extra` names. */
std::vector<uint8_t> collect_parameters(const Function &function, void **parameters, void **extra) {
    const PtxKernel &kernel = function.program->kernel;
    std::vector<uint8_t> bytes(kernel.parameter_bytes);
    for (; extra != nullptr && *extra != nullptr; extra += 2) {
        const auto what = reinterpret_cast<uintptr_t>(extra[0]); // 1: the buffer; 2: its size
        if (what == 1 && !bytes.empty()) std::memcpy(bytes.data(), extra[1], bytes.size());
        if (what == 2 && *static_cast<size_t *>(extra[1]) < bytes.size()) throw refused(function, "the buffer of parameters is too small");
        parameters = nullptr;
    }
    if (parameters == nullptr) return bytes;
    for (size_t i = 0; i < kernel.parameters.size(); ++i) {
        if (parameters[i] == nullptr) throw refused(function, "parameter " + std::to_string(i) + " is missing");
        std::memcpy(bytes.data() + kernel.parameters[i].offset, parameters[i], kernel.parameters[i].bytes);
    }
    return bytes;
}

void launch_kernel(Function *function, Launch &launch, void **parameters, void **extra) {
    require(function != nullptr, Status::invalid_handle);
    launch.program = function->program.get();
    check_block(*function, launch);
    check_shared(*function, launch);
    launch.parameters = collect_parameters(*function, parameters, extra);
    launch.memory = device().memory.table();
    launch.settings.reverse_warps = is_set("ATTUNE_EMULATOR_REVERSE");
    launch.settings.races = is_set("ATTUNE_EMULATOR_RACES");
    launch.settings.uninitialised = is_set("ATTUNE_EMULATOR_UNINITIALISED") && !launch.program->shares_registers;
    try {
        const uint64_t executed = run_grid(launch, threads_from_environment());
        if (is_set("ATTUNE_EMULATOR_COUNT")) report(launch.program->kernel.name + ": " + std::to_string(executed) + " warp instructions");
    } catch (const Error &error) {
        current_context()->failed = error.status;
        throw;
    }
}

/** CUlaunchConfig and CUlaunchAttribute. */
struct LaunchAttribute {
    int id;
    alignas(8) uint32_t value[16];
};
struct LaunchConfig {
    unsigned grid[3], block[3], shared;
    void *stream;
    LaunchAttribute *attributes;
    unsigned attribute_count;
};

void check_attributes(const LaunchConfig &config) {
    for (unsigned i = 0; i < config.attribute_count; ++i) {
        const LaunchAttribute &attribute = config.attributes[i];
        const bool is_cluster = attribute.id == 4 && attribute.value[0] * attribute.value[1] * attribute.value[2] != 1;
        if (is_cluster) throw Error(Status::not_supported, "the emulator knows no clusters of more than one block");
    }
}

} // namespace
} // namespace attune::emulator

using namespace attune::emulator;

DRIVER_API cuLaunchKernel(Function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                          unsigned block_z, unsigned shared, void *, void **parameters, void **extra) {
    return guarded_in_context([=] {
        Launch launch;
        const unsigned grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
        std::copy(grid, grid + 3, launch.grid);
        std::copy(block, block + 3, launch.block);
        launch.dynamic_shared = shared;
        launch_kernel(function, launch, parameters, extra);
    });
}
DRIVER_API cuLaunchKernelEx(const LaunchConfig *config, Function *function, void **parameters, void **extra) {
    return guarded_in_context([=] {
        check_attributes(*config);
        Launch launch;
        std::copy(config->grid, config->grid + 3, launch.grid);
        std::copy(config->block, config->block + 3, launch.block);
        launch.dynamic_shared = config->shared;
        launch_kernel(function, launch, parameters, extra);
    });
}
DRIVER_API cuLaunchCooperativeKernel(Function *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **) {
    return static_cast<int>(Status::not_supported);
}
DRIVER_API cuLaunchHostFunc(void *, void (*function)(void *), void *data) {
    return guarded_in_context([=] { function(data); });
}
