// The passes over code for CUDA that take out barriers and make accesses wide. Code is lowered for CUDA, which takes no GPU.
#include "schedules/cuda/idle_barriers.h"
#include "schedules/cuda/private_registers.h"
#include "schedules/cuda/whole_vectors.h"

#include <gtest/gtest.h>

namespace {

using namespace Halide;
using attune::schedules::cuda::IdleBarriers;
using attune::schedules::cuda::PrivateRegisters;
using attune::schedules::cuda::WholeVectors;

// A pass that changes nothing: what code for a block has.
class BlockCounts : public Internal::IRMutator {
public:
    explicit BlockCounts(int &barriers, int &wide) : barriers(barriers), wide(wide) {}

private:
    using IRMutator::visit;
    int &barriers, &wide;
    Expr visit(const Internal::Call *op) override {
        barriers += op->is_intrinsic(Internal::Call::gpu_thread_barrier);
        return IRMutator::visit(op);
    }
    Expr visit(const Internal::Load *op) override {
        wide += op->type.bits() == 128;
        return IRMutator::visit(op);
    }
    Internal::Stmt visit(const Internal::Store *op) override {
        wide += op->value.type().bits() == 128;
        return IRMutator::visit(op);
    }
};

struct BlockCounted {
    int barriers = 0, wide = 0;
};

BlockCounted counts_of(Func f, const std::vector<Internal::IRMutator *> &passes) {
    BlockCounted counted;
    Pipeline pipeline(f);
    pipeline.add_custom_lowering_pass(new PrivateRegisters);
    for (Internal::IRMutator *pass : passes)
        pipeline.add_custom_lowering_pass(pass);
    pipeline.add_custom_lowering_pass(new BlockCounts(counted.barriers, counted.wide));
    pipeline.compile_to_module(pipeline.infer_arguments(), "kernel", Target("x86-64-linux-no_runtime-cuda-cuda_capability_75"));
    return counted;
}

// BlockStages of a block, each of the one before: in registers, or in shared memory, of which the next one reads its neighbour's.
struct BlockStages {
    ImageParam numbers{Float(32), 2, "numbers"};
    Var thread{"thread"}, block{"block"};
    Func result{"result"};

    explicit BlockStages(const std::vector<MemoryType> &stages) {
        constexpr int threads = 64;
        std::vector<Func> made;
        Expr before = numbers(thread, block);
        for (const MemoryType memory : stages) {
            Func stage("stage");
            stage(thread, block) = before * 2.0f;
            before = stage(memory == MemoryType::GPUShared ? (thread + 1) % threads : Expr(thread), block);
            made.push_back(stage);
        }
        result(thread, block) = before;
        result.bound(thread, 0, threads).gpu_blocks(block).gpu_threads(thread);
        for (size_t s = 0; s < stages.size(); s++)
            made[s].compute_at(result, block).store_in(stages[s]).bound_extent(thread, threads).gpu_threads(thread);
    }
    int barriers(bool pass) const {
        return counts_of(result, pass ? std::vector<Internal::IRMutator *>{new IdleBarriers} : std::vector<Internal::IRMutator *>{})
            .barriers;
    }
};

constexpr MemoryType own = MemoryType::Register, shared = MemoryType::GPUShared;

TEST(IdleBarriers, AreThoseBetweenRegisters) {
    EXPECT_EQ(BlockStages({own, own}).barriers(false), 2);
    EXPECT_EQ(BlockStages({own, own}).barriers(true), 0);
}

TEST(IdleBarriers, WhatOthersWroteIsWaitedFor) {
    EXPECT_EQ(BlockStages({own, shared}).barriers(true), 1);
    EXPECT_EQ(BlockStages({shared, shared}).barriers(true), 2);
    EXPECT_EQ(BlockStages({own, shared, own}).barriers(true), 1);
}

TEST(IdleBarriers, WhatOthersReadIsNotOverwritten) { EXPECT_EQ(BlockStages({shared, own, shared}).barriers(true), 3); }

TEST(WholeVectors, AreAccessesOf16Bytes) {
    for (const Type type : {Float(32), UInt(16), UInt(8)}) {
        ImageParam numbers(type, 1, "numbers");
        Var i("i"), vector("vector"), block("block"), thread("thread");
        const int elements = 16 / type.bytes();
        Func copy("copy");
        copy(i) = numbers(i) + cast(type, 1);
        copy.split(i, vector, i, elements, TailStrategy::RoundUp).vectorize(i);
        copy.gpu_tile(vector, block, thread, 32, TailStrategy::RoundUp);
        EXPECT_EQ(counts_of(copy, {new WholeVectors({"numbers", copy.name()})}).wide, 2) << type;
        EXPECT_EQ(counts_of(copy, {new WholeVectors({"numbers"})}).wide, 1) << type;
    }
}

} // namespace
