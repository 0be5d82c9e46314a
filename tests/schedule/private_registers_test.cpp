// The pass that gives threads arrays of their own in registers. Code is lowered for CUDA, which takes no GPU.
#include "schedules/cuda/private_registers.h"

#include <gtest/gtest.h>

namespace {

using namespace Halide;

// Two numbers of each of two rows a thread, kept over a loop.
struct Sums {
    ImageParam numbers{Float(32), 2, "numbers"};
    Func sums{"sums"}, total{"total"};
    Var e{"e"}, row{"row"}, thread{"thread"}, y{"y"}, block{"block"}, below{"below"}, warp{"warp"};
    RDom x{0, 100, "x"};

    explicit Sums(bool unrolled = true) {
        sums(e, thread, row) = 0.0f;
        sums(e, thread, row) += numbers(x, thread + e) * row;
        total(thread, row) = sums(0, thread, row) - 2 * sums(1, thread, row);
        total.split(thread, block, thread, 8).split(row, y, row, 8).split(row, warp, below, 2);
        total.reorder(below, thread, warp, block, y).gpu_blocks(block, y).gpu_threads(thread, warp).unroll(below);
        sums.compute_at(total, block).store_in(MemoryType::Register).bound(e, 0, 2);
        sums.split(row, warp, below, 2).reorder(e, below, thread, warp).gpu_threads(thread, warp).unroll(below);
        sums.update().split(row, warp, below, 2).reorder(e, below, x, thread, warp).gpu_threads(thread, warp).unroll(below);
        if (unrolled) sums.unroll(e), sums.update().unroll(e);
    }
};

Target cuda() { return Target("x86-64-linux-no_runtime-cuda-cuda_capability_75"); }

// A pass that changes nothing: how many elements the register arrays of the code have.
class Extents : public Internal::IRMutator {
public:
    explicit Extents(int64_t &elements) : elements(elements) {}

private:
    using IRMutator::visit;
    int64_t &elements;
    Internal::Stmt visit(const Internal::Allocate *op) override {
        if (op->memory_type == MemoryType::Register) elements += op->constant_allocation_size();
        return IRMutator::visit(op);
    }
};

int64_t elements_of(Func f, bool pass) {
    int64_t elements = 0;
    Pipeline pipeline(f);
    if (pass) pipeline.add_custom_lowering_pass(new attune::schedules::cuda::PrivateRegisters);
    pipeline.add_custom_lowering_pass(new Extents(elements));
    pipeline.compile_to_module(pipeline.infer_arguments(), "kernel", cuda());
    return elements;
}

TEST(PrivateRegisters, HalideItselfGivesEachThreadTheWholeBlocksArray) { EXPECT_EQ(elements_of(Sums().total, false), 2 * 8 * 8); }

TEST(PrivateRegisters, AThreadKeepsItsOwnElements) { EXPECT_EQ(elements_of(Sums().total, true), 2 * 2); }

TEST(PrivateRegisters, AnIndexThatIsNotConstantIsRefused) {
    try {
        elements_of(Sums(false).total, true);
        FAIL() << "nothing was thrown";
    } catch (const CompileError &e) {
        EXPECT_NE(std::string(e.what()).find("register array \"sums"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("isn't constant for a thread"), std::string::npos) << e.what();
    }
}

} // namespace
