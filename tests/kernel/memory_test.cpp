// Memory: long keys need little workspace, and a call like one before allocates nothing.
#include <atomic>
#include <cstdlib>
#include <new>

#include "attention_test.h"
#include "attune/layers.hpp"

namespace {

std::atomic<int64_t> allocations{0};

} // namespace

// The linker's --wrap sends every allocation of this program's own objects here (see CMakeLists.txt), those of Attune,
// its kernels and Halide's runtime among them; operator new is replaced for the sake of the shared C++ library.
extern "C" {
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **memory, size_t alignment, size_t size);
void *__real_mmap(void *address, size_t length, int protection, int flags, int file, long offset);

void *__wrap_malloc(size_t size) { return allocations++, __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return allocations++, __real_calloc(count, size); }
void *__wrap_realloc(void *memory, size_t size) { return allocations++, __real_realloc(memory, size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return allocations++, __real_aligned_alloc(alignment, size); }
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size) {
    return allocations++, __real_posix_memalign(memory, alignment, size);
}
void *__wrap_mmap(void *address, size_t length, int protection, int flags, int file, long offset) {
    return allocations++, __real_mmap(address, length, protection, flags, file, offset);
}
}

void *operator new(size_t size) {
    void *memory = __wrap_malloc(size);
    if (!memory) throw std::bad_alloc();
    return memory;
}
void *operator new(size_t size, std::align_val_t alignment) {
    void *memory = nullptr;
    if (__wrap_posix_memalign(&memory, static_cast<size_t>(alignment), size) != 0) throw std::bad_alloc();
    return memory;
}
// Not inlined: GCC would warn that what operator new gave is freed.
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace attune::test {
namespace {

class Memory : public SeededTest {};

/** 131,072 keys and 64 queries, 8 heads, D 64. The heads share one head's memory: that changes nothing a kernel can see. */
AttentionProblem long_problem(Random &random) {
    AttentionProblem p = normal_problem({1, 8, 1, 64, 131072, 64, 64}, random);
    p.k = p.k.broadcast({1, 8, 131072, 64}), p.v = p.v.broadcast({1, 8, 131072, 64});
    return p;
}

/** Two queries of the first head: the oracle takes seconds for all. */
AttentionProblem first_queries(const AttentionProblem &p) {
    AttentionProblem part = p;
    part.q.extent = {1, 1, 2, 64}, part.k.extent[1] = part.v.extent[1] = 1;
    return part;
}

TEST_F(Memory, LongKeysNeedLittleWorkspace) {
    const AttentionProblem p = long_problem(random);
    const AttentionRun run = run_attention("", p, {true, false, {}, Call()});
    ASSERT_TRUE(run.status.ok()) << run.status.message;
    EXPECT_GT(run.workspace_bytes, 0u);
    EXPECT_LT(run.workspace_bytes, 64000000u);
    Tensor<float> two = run.out;
    two.extent = {1, 1, 2, 64};
    const AttentionAnswer exact = attention_in_double(first_queries(p));
    EXPECT_TRUE(agrees(to_double(two), exact.out, {4e-6 * largest_magnitude(to_double(first_queries(p).v))}));
}

/** Runs twice to warm up, then expects three more runs to allocate nothing. */
template <typename Run> void expect_no_allocation(Run run, const std::string &what) {
    for (int warm_up = 0; warm_up < 2; warm_up++)
        ASSERT_TRUE(run()) << what;
    const int64_t before = allocations;
    bool ran = true;
    for (int again = 0; again < 3; again++)
        ran = run() && ran;
    const int64_t made = allocations - before;
    EXPECT_TRUE(ran) << what;
    EXPECT_EQ(made, 0) << what;
}

TEST_F(Memory, AttentionAllocatesNothingInTheSteadyState) {
    const Tensor<int32_t> lengths({2});
    lengths(0) = 49, lengths(1) = 30;
    const attune_tensor lengths_view = lengths.view();
    for (const attune_kernel *kernel : kernels_of("attention")) {
        const AttentionShape shape{2, 4, 2, 25, 49, head_dim_or(*kernel, 20), value_dim_or(*kernel, 12)};
        const AttentionProblem p = normal_problem(shape, random);
        AttentionDesc desc;
        desc.head_dim = shape.dim, desc.value_dim = shape.value_dim, desc.mask = "causal | prefix(3)", desc.schedule = kernel->schedule;
        const Result<AttentionPlan> plan = AttentionPlan::create(desc);
        ASSERT_TRUE(plan.ok()) << plan.status().message;
        const Tensor<float> out({2, 4, 25, shape.value_dim}), weights({2, 4, 25, 49});
        const attune_tensor weights_view = weights.view();
        AttentionArgs args(p.q.view(), p.k.view(), p.v.view(), out.view());
        args.key_lengths = &lengths_view, args.weights = &weights_view, args.has_offset = 1;
        for (int32_t threads : {1, 2, 3}) {
            Call call(threads);
            expect_no_allocation([&] { return plan.value().run(args, call).ok(); }, kernel->name);
        }
    }
}

/** Tokens into caches of every form, again and again at the same lengths. */
TEST_F(Memory, CachesAllocateNothingInTheSteadyState) {
    const Tensor<float> q({2, 4, 3, 20}), k({2, 2, 3, 20}), v({2, 2, 3, 20}), out({2, 4, 3, 20}), pool({2, 8, 2, 8, 20});
    const Tensor<int32_t> lengths({2}), table({2, 4});
    const std::vector<int8_t> bytes(static_cast<size_t>(pool.elements()));
    const Tensor<float> scale({2, 8, 2, 8});
    random.fill_normal(q), random.fill_normal(k), random.fill_normal(v), lengths(0) = 20, lengths(1) = 7;
    for (int64_t p = 0; p < 8; p++)
        table(p / 4, p % 4) = static_cast<int32_t>(7 - p);
    const attune_tensor table_view = table.view(), k_scale = TensorView(scale.data(), {8, 2, 8});
    const attune_tensor v_scale = TensorView(scale.data() + scale.stride[0], {8, 2, 8});
    for (const attune_type type : {ATTUNE_F32, ATTUNE_I8})
        for (const bool ring : {false, true}) {
            AttentionDesc desc;
            desc.head_dim = 20, desc.cache_dtype = type, desc.mask = "causal & window(4, 0)", desc.score = "alibi";
            const Result<AttentionPlan> plan = AttentionPlan::create(desc);
            ASSERT_TRUE(plan.ok()) << plan.status().message;
            Cache cache(TensorView(pool.data(), {8, 2, 8, 20}), TensorView(pool.data() + pool.stride[0], {8, 2, 8, 20}), lengths.view());
            if (type == ATTUNE_I8) {
                cache.k = TensorView(bytes.data(), {8, 2, 8, 20}), cache.v = TensorView(bytes.data() + 2560, {8, 2, 8, 20});
                cache.k_scale = &k_scale, cache.v_scale = &v_scale;
            }
            cache.block_table = &table_view, cache.ring = ring;
            AttentionArgs args(q.view(), k.view(), v.view(), out.view());
            args.cache = &cache;
            Call call(2);
            expect_no_allocation([&] { return plan.value().run(args, call).ok(); }, ring ? "ring" : "pages");
        }
}

/** Documents, a block map, biases by distance, rotary embedding, sinks and dropout, all at once. */
TEST_F(Memory, TermsOfEveryKindAllocateNothingInTheSteadyState) {
    const Tensor<int32_t> documents({2, 49}), positions({49});
    const Tensor<uint8_t> block_map({1, 4, 7, 7});
    const Tensor<float> table({8, 4}), sinks({4});
    documents.each([&](int32_t &id) { id = static_cast<int32_t>(random.between(0, 3)); });
    random.fill_boolean(block_map, 0.5), random.fill_normal(table), random.fill_normal(sinks), positions.fill(3);
    const attune_tensor views[] = {documents.view(), block_map.view(), table.view(), sinks.view(), positions.view()};
    for (const attune_kernel *kernel : kernels_of("attention")) {
        const AttentionShape shape{2, 4, 2, 49, 49, head_dim_or(*kernel, 20), value_dim_or(*kernel, 12)};
        const AttentionProblem p = normal_problem(shape, random);
        AttentionDesc desc;
        desc.head_dim = shape.dim, desc.value_dim = shape.value_dim, desc.mask = "(documents | blocks(7, 7)) & causal";
        desc.score = "alibi t5(8, 16, causal)", desc.position = "rotary(half)", desc.schedule = kernel->schedule;
        const Result<AttentionPlan> plan = AttentionPlan::create(desc);
        ASSERT_TRUE(plan.ok()) << plan.status().message;
        const Tensor<float> out({2, 4, 49, shape.value_dim});
        AttentionArgs args(p.q.view(), p.k.view(), p.v.view(), out.view());
        args.documents = &views[0], args.block_map = &views[1], args.t5_table = &views[2], args.sinks = &views[3],
        args.positions = &views[4];
        args.dropout = 0.1f;
        Call call(2);
        expect_no_allocation([&] { return plan.value().run(args, call).ok(); }, kernel->name);
    }
}

TEST_F(Memory, TheOtherOperationsAllocateNothingInTheSteadyState) {
    const Tensor<float> x({2, 3, 33, 16}), y({2, 3, 33, 16}), table({33, 16});
    random.fill_normal(x);
    Call call(2);
    expect_no_allocation([&] { return softmax(x.view(), y.view(), {}, &call).ok(); }, "softmax");
    for (int32_t axis : {0, 1, 2})
        expect_no_allocation([&] { return softmax(x.view(), y.view(), {1, true, axis, nullptr, ""}, &call).ok(); }, "log-softmax");
    const Tensor<float> sums({2, 3, 1, 16}), lse({2, 3, 33}), slopes({12});
    random.fill_normal(lse);
    expect_no_allocation([&] { return log_sum_exp(x.view(), sums.view(), {1, 2, nullptr, ""}, &call).ok(); }, "log-sum-exp");
    const Partial part{x.view(), lse.view()};
    expect_no_allocation([&] { return merge(part, part, {y.view(), lse.view()}, "", &call).ok(); }, "merge");
    expect_no_allocation([&] { return alibi_slopes(slopes.view(), "", &call).ok(); }, "alibi slopes");
    expect_no_allocation([&] { return rotary(x.view(), y.view(), {}, &call).ok(); }, "rotary");
    expect_no_allocation([&] { return sinusoidal(table.view(), {}, &call).ok(); }, "sinusoidal");
    const Tensor<int64_t> positions({2, 33});
    positions.fill(7);
    const TensorView positions_view = positions.view(), table_view = table.view();
    RotaryOptions turned;
    turned.positions = &positions_view, turned.scaling = "yarn(4, 4096)", turned.sections = {3, 5};
    expect_no_allocation([&] { return rotary(x.view(), y.view(), turned, &call).ok(); }, "rotary by positions");
    AddPositionsOptions added;
    expect_no_allocation([&] { return add_positions(x.view(), y.view(), added, &call).ok(); }, "sinusoidal positions");
    added.table = &table_view, added.positions = &positions_view;
    table.fill(1);
    expect_no_allocation([&] { return add_positions(x.view(), y.view(), added, &call).ok(); }, "learned positions");
}

TEST_F(Memory, MultiHeadAttentionAllocatesNothingInTheSteadyState) {
    const Tensor<float> weight({24, 24}), x({2, 33, 24}), out({2, 33, 24}), weights({2, 4, 33, 33});
    const Tensor<uint8_t> mask({33, 33}), padding({2, 33});
    random.fill_normal(weight, 0.2), random.fill_normal(x), random.fill_boolean(mask, 0.7), padding.fill(1);
    const TensorView weight_view = weight.view(), weights_view = weights.view(), mask_view = mask.view(), padding_view = padding.view();
    MultiHeadAttentionDesc desc;
    desc.heads = 4, desc.query_weight = desc.key_weight = desc.value_weight = weight_view, desc.output_weight = &weight_view;
    desc.mask = "causal", desc.position = "rotary(half)";
    const Result<MultiHeadAttention> layer = MultiHeadAttention::create(desc);
    ASSERT_TRUE(layer.ok()) << layer.status().message;
    MultiHeadAttentionArgs args(x.view(), out.view());
    args.attention.weights = &weights_view, args.attention.dropout = 0.1f;
    Call call(2);
    expect_no_allocation([&] { return layer.value().run(args, &call).ok(); }, "causal");
    args.mask = &mask_view, args.key_padding = &padding_view, args.polarity = ATTUNE_TRUE_ATTENDS;
    expect_no_allocation([&] { return layer.value().run(args, &call).ok(); }, "mask and padding");
    padding(0, 3) = 0;
    expect_no_allocation([&] { return layer.value().run(args, &call).ok(); }, "padding with a hole");
}

TEST_F(Memory, EncoderBlocksAllocateNothingInTheSteadyState) {
    const Tensor<float> weight({24, 24}), norm({24}), x({2, 33, 24}), y({2, 33, 24});
    random.fill_normal(weight, 0.2), random.fill_normal(x), norm.fill(1);
    const TensorView weight_view = weight.view();
    EncoderBlockDesc desc;
    desc.attention.heads = 4, desc.attention.output_weight = &weight_view;
    desc.attention.query_weight = desc.attention.key_weight = desc.attention.value_weight = weight_view;
    desc.feed_forward.up_weight = desc.feed_forward.down_weight = weight_view;
    desc.attention_norm = desc.feed_forward_norm = {norm.view(), norm.view()};
    for (const bool norm_first : {false, true}) {
        desc.norm_first = norm_first;
        const Result<EncoderBlock> block = EncoderBlock::create(desc);
        ASSERT_TRUE(block.ok()) << block.status().message;
        BlockMemory memory;
        Call call(2);
        expect_no_allocation([&] { return block.value().run(x.view(), y.view(), memory, {}, &call).ok(); }, norm_first ? "pre" : "post");
    }
}

} // namespace
} // namespace attune::test
