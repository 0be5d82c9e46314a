#include "generators/cuda/device_code.h"

#include <cstring>

namespace attune::generators {

using Halide::Expr;
using namespace Halide::Internal;

namespace {

// Halide's names: of the buffer that holds the code, and of the runtime's functions that load it and launch a kernel.
constexpr const char *code_name = "cuda_gpu_source_kernels";
constexpr const char *load_name = "halide_cuda_initialize_kernels", *launch_name = "halide_cuda_run";

bool holds_code(const Halide::Buffer<void> &buffer) { return buffer.name().find(code_name) != std::string::npos; }

/** The call that loads the code says how long it is. */
class SetCodeSize : public IRMutator {
public:
    explicit SetCodeSize(int size) : size(size) {}

private:
    using IRMutator::visit;
    Expr visit(const Call *op) override {
        if (op->name != load_name) return IRMutator::visit(op);
        std::vector<Expr> arguments = op->args;
        arguments.back() = size;
        return Call::make(op->type, op->name, arguments, op->call_type);
    }

    const int size;
};

class FindLaunches : public IRVisitor {
public:
    std::map<std::string, int> threads;

private:
    using IRVisitor::visit;
    // (state, kernel, blocks x, y, z, threads x, y, z, ...)
    void visit(const Call *op) override {
        IRVisitor::visit(op);
        if (op->name != launch_name) return;
        size_t name = 0;
        while (name < op->args.size() && !op->args[name].as<StringImm>())
            name++;
        if (name + 6 >= op->args.size()) return;
        int product = 1;
        for (size_t i = name + 4; i <= name + 6; i++) {
            const auto extent = as_const_int(op->args[i]);
            if (!extent) return;
            product *= int(*extent);
        }
        threads[op->args[name].as<StringImm>()->value] = product;
    }
};

} // namespace

std::string device_code(const Halide::Module &module) {
    for (const Halide::Buffer<void> &buffer : module.buffers()) {
        if (!holds_code(buffer)) continue;
        std::string code(static_cast<const char *>(buffer.data()), buffer.size_in_bytes());
        code.resize(code.find_last_not_of('\0') + 1);
        return code;
    }
    throw Halide::CompileError("attune: the module has no kernel for CUDA; its schedule must use GPU blocks");
}

std::map<std::string, int> block_threads(const Halide::Module &module) {
    FindLaunches find;
    for (const LoweredFunc &function : module.functions())
        function.body.accept(&find);
    return find.threads;
}

Halide::Module with_device_code(const Halide::Module &module, const std::string &code) {
    Halide::Module changed(module.name(), module.target(), module.get_metadata_name_map());
    changed.set_any_strict_float(module.any_strict_float());
    for (const Halide::Buffer<void> &buffer : module.buffers()) {
        if (!holds_code(buffer)) {
            changed.append(buffer);
            continue;
        }
        Halide::Buffer<uint8_t> replaced(int(code.size()), buffer.name());
        std::memcpy(replaced.data(), code.data(), code.size());
        changed.append(Halide::Buffer<void>(replaced));
    }
    for (LoweredFunc function : module.functions()) {
        function.body = SetCodeSize(int(code.size())).mutate(function.body);
        changed.append(function);
    }
    for (const Halide::Module &submodule : module.submodules())
        changed.append(submodule);
    return changed;
}

} // namespace attune::generators
