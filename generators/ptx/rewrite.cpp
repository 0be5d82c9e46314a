#include "rewrite.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>

#include "async_copies.h"
#include "copy_parts.h"
#include "opcodes.h"
#include "parser.h"
#include "printer.h"
#include "shared_base.h"
#include "sink_loads.h"
#include "turns.h"
#include "warp_operations.h"

namespace attune::ptx {

namespace {

bool contains_call(const std::vector<Instruction> &body, const std::string &function) {
    return std::any_of(body.begin(), body.end(), [&](const Instruction &i) { return i.is_call() && i.name == function; });
}

void drop_uncalled_functions(Module &module) {
    const auto is_called = [&](const Function &function) {
        const auto calls = [&](const auto &caller) { return contains_call(caller.body, function.name); };
        return std::any_of(module.kernels.begin(), module.kernels.end(), calls) ||
               std::any_of(module.functions.begin(), module.functions.end(), calls);
    };
    std::vector<Function> called;
    std::copy_if(module.functions.begin(), module.functions.end(), std::back_inserter(called), is_called);
    module.functions = std::move(called);
}

/** The functions that the module defines. They are left as they are, so they must do nothing that the pass would have to change. */
std::set<std::string> defined_functions(const Module &module) {
    std::set<std::string> names;
    for (const Function &function : module.functions)
        if (function.is_defined) names.insert(function.name);
    for (const Function &function : module.functions)
        for (const Instruction &instruction : function.body) {
            if (accesses_shared(instruction)) throw error_at(instruction, "function " + function.name + " accesses shared memory");
            if (instruction.is_call() && !names.count(instruction.name))
                throw error_at(instruction, "unknown function " + instruction.name);
        }
    return names;
}

/** Whether the target has cp.async. */
bool copies_asynchronously(const std::string &arch) { return std::atoi(arch.c_str() + std::min<size_t>(arch.size(), 3)) >= 80; }

/** Bounds on the launch, by which ptxas knows how many registers a thread may have. .maxntid bounds the product of its numbers, not each.
 */
void set_launch_bounds(Kernel &kernel, const RewriteOptions &options) {
    const auto threads = options.threads.find(kernel.name);
    if (threads == options.threads.end()) return;
    const int blocks = std::max(options.blocks_per_sm, options.threads_per_sm / threads->second);
    kernel.directives = {{".maxntid", std::to_string(threads->second) + ", 1, 1"}, {".minnctapersm", std::to_string(blocks)}};
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
    const std::set<std::string> functions = defined_functions(module);
    bool shared = false;
    for (Kernel &kernel : module.kernels) {
        replace_warp_operations(kernel, functions);
        sink_matrix_loads(kernel);
        if (options.async_copies && copies_asynchronously(options.arch)) make_copies_async(kernel, options.stages);
        // Where blocks share a multiprocessor, the others multiply meanwhile.
        if (options.blocks_per_sm == 1) delay_copies(kernel);
        fence_for_wgmma(kernel);
        if (const auto threads = options.threads.find(kernel.name); threads != options.threads.end()) take_turns(kernel, threads->second);
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
