#include "rewrite.h"

#include <algorithm>

#include "async_copies.h"
#include "copy_parts.h"
#include "parser.h"
#include "printer.h"
#include "shared_base.h"
#include "sink_loads.h"
#include "warp_operations.h"

namespace attune::ptx {

namespace {

bool contains_call(const Module &module, const std::string &function) {
    for (const Kernel &kernel : module.kernels)
        for (const Instruction &instruction : kernel.body)
            if (instruction.is_call() && instruction.name == function) return true;
    return false;
}

void drop_uncalled_functions(Module &module) {
    auto &functions = module.functions;
    const auto uncalled = [&](const Function &function) { return !contains_call(module, function.name); };
    functions.erase(std::remove_if(functions.begin(), functions.end(), uncalled), functions.end());
}

/** Bounds on the launch, by which ptxas knows how many registers a thread may have. .maxntid bounds the product of its numbers, not each.
 */
void set_launch_bounds(Kernel &kernel, const RewriteOptions &options) {
    const auto threads = options.threads.find(kernel.name);
    if (threads == options.threads.end()) return;
    kernel.directives = {{".maxntid", std::to_string(threads->second) + ", 1, 1"},
                         {".minnctapersm", std::to_string(options.blocks_per_sm)}};
}

void check(const RewriteOptions &options) {
    if (options.stages < 1) throw Error("stages is " + std::to_string(options.stages) + "; it must be 1 or more");
    if (options.blocks_per_sm < 1) throw Error("blocks_per_sm is " + std::to_string(options.blocks_per_sm) + "; it must be 1 or more");
    for (const auto &[kernel, threads] : options.threads)
        if (threads < 1 || threads > 1024)
            throw Error("kernel " + kernel + " has " + std::to_string(threads) + " threads a block; there must be 1 to 1024");
}

} // namespace

std::string rewrite(const std::string &ptx, const RewriteOptions &options) {
    check(options);
    Module module = parse(ptx);
    bool shared = false;
    for (Kernel &kernel : module.kernels) {
        replace_warp_operations(kernel);
        sink_matrix_loads(kernel);
        if (options.async_copies) make_copies_async(kernel, options.stages);
        fence_for_wgmma(kernel);
        shared = rebase_shared_memory(kernel) || shared;
        set_launch_bounds(kernel, options);
    }
    drop_uncalled_functions(module);
    module.version = options.version;
    module.target = options.arch;
    if (shared) module.variables.push_back(shared_memory());
    return print(module);
}

} // namespace attune::ptx
