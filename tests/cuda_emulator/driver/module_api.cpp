// Modules and functions.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "driver.h"
#include "fatbin.h"

namespace attune::emulator {

Module::~Module() {
    for (const auto &[name, address] : globals)
        device().memory.release(address);
}

static void check_target(const PtxModule &ptx) {
    const int capability = device().capability;
    if (ptx.target <= capability && (!ptx.only_this_target || ptx.target == capability)) return;
    throw Error(Status::no_binary_for_device, "the PTX is for architecture " + std::to_string(ptx.target) +
                                                  (ptx.only_this_target ? " alone" : "") + ", the device has " +
                                                  std::to_string(capability));
}

static void place_globals(const PtxModule &ptx, Module &module) {
    for (const auto &[name, variable] : ptx.variables) {
        if (variable.space != Space::global && variable.space != Space::constant) continue;
        const uint64_t address = device().memory.allocate(std::max<uint64_t>(variable.bytes, 1));
        if (address == 0) throw Error(Status::out_of_memory, "there is no memory for variable " + name);
        auto *memory = reinterpret_cast<uint8_t *>(address);
        std::memset(memory, 0, variable.bytes);
        if (!variable.initialiser.empty()) std::memcpy(memory, variable.initialiser.data(), variable.initialiser.size());
        module.globals[name] = address;
        module.global_bytes[name] = variable.bytes;
    }
}

static std::unique_ptr<Module> load(const void *image) {
    const PtxModule ptx = parse(find_ptx(image, device().capability));
    check_target(ptx);
    auto module = std::make_unique<Module>();
    place_globals(ptx, *module);
    const bool shares_registers = std::getenv("ATTUNE_EMULATOR_UNINITIALISED") == nullptr;
    for (const auto &[name, kernel] : ptx.kernels) {
        module->functions[name].program = decode(ptx, kernel, module->globals, shares_registers);
    }
    return module;
}

/** CU_JIT_ERROR_LOG_BUFFER is option 5, its size option 6. */
static void write_log(const std::string &text, unsigned count, const int *options, void **values) {
    char *buffer = nullptr;
    size_t bytes = 0;
    for (unsigned i = 0; i < count; ++i) {
        if (options[i] == 5) buffer = static_cast<char *>(values[i]);
        if (options[i] == 6) bytes = reinterpret_cast<size_t>(values[i]) & 0xffffffff;
    }
    if (buffer != nullptr && bytes > 0) std::snprintf(buffer, bytes, "%s", text.c_str());
}

static int function_attribute(const Function &function, int which) {
    const Program &program = *function.program;
    const uint32_t *max = program.kernel.max_threads, *required = program.kernel.required_threads;
    switch (which) {
    case 0: // MAX_THREADS_PER_BLOCK
        return static_cast<int>(required[0] != 0 ? required[0] * required[1] * required[2] : max[0] != 0 ? max[0] * max[1] * max[2] : 1024);
    case 1: // SHARED_SIZE_BYTES
        return static_cast<int>(program.static_shared);
    case 3: // LOCAL_SIZE_BYTES
        return static_cast<int>(program.local_bytes);
    case 4: // NUM_REGS: rows that a warp needs
        return static_cast<int>(std::min<uint64_t>((program.register_bytes - program.constants.size()) / 128, 255));
    case 5: // PTX_VERSION
    case 6: // BINARY_VERSION
        return device().capability;
    case 8: // MAX_DYNAMIC_SHARED_SIZE_BYTES
        return static_cast<int>(function.dynamic_shared_limit != 0
                                    ? function.dynamic_shared_limit
                                    : shared_without_opt_in - std::min(program.static_shared, shared_without_opt_in));
    default:
        return 0;
    }
}

static void set_function_attribute(Function &function, int which, int value) {
    if (which == 9) return; // PREFERRED_SHARED_MEMORY_CARVEOUT
    require(which == 8 && value >= 0, Status::invalid_value);
    const uint64_t limit = device().shared_opt_in - std::min(device().shared_opt_in, function.program->static_shared);
    if (static_cast<uint64_t>(value) > limit) {
        throw Error(Status::invalid_value,
                    "a kernel can have " + std::to_string(limit) + " bytes of dynamic shared memory, not " + std::to_string(value));
    }
    function.dynamic_shared_limit = static_cast<uint64_t>(value);
}

} // namespace attune::emulator

using namespace attune::emulator;

DRIVER_API cuModuleLoadDataEx(Module **module, const void *image, unsigned count, int *options, void **values) {
    return guarded_in_context([=] {
        try {
            *module = load(image).release();
        } catch (const Error &error) {
            write_log(error.what(), count, options, values);
            throw;
        }
    });
}
DRIVER_API cuModuleLoadData(Module **module, const void *image) { return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr); }
DRIVER_API cuModuleLoadFatBinary(Module **module, const void *image) { return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr); }
DRIVER_API cuModuleUnload(Module *module) {
    return guarded([=] { delete module; });
}
DRIVER_API cuModuleGetFunction(Function **function, Module *module, const char *name) {
    return guarded_in_context([=] {
        require(module != nullptr, Status::invalid_handle);
        const auto found = module->functions.find(name);
        require(found != module->functions.end(), Status::not_found);
        *function = &found->second;
    });
}
DRIVER_API cuModuleGetGlobal_v2(DevicePointer *address, size_t *bytes, Module *module, const char *name) {
    return guarded_in_context([=] {
        require(module != nullptr && module->globals.count(name) != 0, Status::not_found);
        if (address != nullptr) *address = module->globals[name];
        if (bytes != nullptr) *bytes = module->global_bytes[name];
    });
}
DRIVER_API cuFuncGetAttribute(int *value, int which, Function *function) {
    return guarded_in_context([=] {
        require(function != nullptr, Status::invalid_handle);
        *value = function_attribute(*function, which);
    });
}
DRIVER_API cuFuncSetAttribute(Function *function, int which, int value) {
    return guarded_in_context([=] {
        require(function != nullptr, Status::invalid_handle);
        set_function_attribute(*function, which, value);
    });
}
DRIVER_API cuFuncSetCacheConfig(Function *, int) {
    return guarded_in_context([] {});
}
DRIVER_API cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, Function *function, int threads, size_t dynamic_shared,
                                                                unsigned) {
    return guarded_in_context([=] {
        require(function != nullptr && threads > 0, Status::invalid_value);
        const uint64_t shared = function->program->static_shared + dynamic_shared + shared_reserved;
        *blocks = static_cast<int>(
            std::min<uint64_t>({2048u / static_cast<unsigned>(threads), (device().shared_opt_in + shared_reserved) / shared, 32}));
    });
}
DRIVER_API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *function, int threads, size_t dynamic_shared) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic_shared, 0);
}
