// Few heads on many threads: their queries are cut into tasks for all of them, and however they are, the bits are those of one thread.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "attention_test.h"
#include "typed_tensor.h"

namespace attune::test {
namespace {

class AttentionTasks : public AttentionTest {
protected:
    struct Problem {
        TypedTensor q, k, v;
        std::string mask;
        const Tensor<uint8_t> *boolean_mask = nullptr;
    };

    /** The bytes of the output, and of the log-sum-exp. */
    std::vector<uint8_t> run(const Problem &p, Call call) {
        const attune_tensor q = p.q.view(), v = p.v.view();
        AttentionDesc desc;
        desc.dtype = kernel().dtype, desc.head_dim = q.extent[3], desc.value_dim = v.extent[3], desc.schedule = kernel().schedule;
        desc.mask = p.mask;
        const Result<AttentionPlan> plan = AttentionPlan::create(desc);
        EXPECT_TRUE(plan.ok()) << plan.status().message;
        const TypedTensor out(kernel().dtype, {q.extent[0], q.extent[1], q.extent[2], v.extent[3]});
        const TypedTensor lse(ATTUNE_F32, {q.extent[0], q.extent[1], q.extent[2]});
        const attune_tensor lse_view = lse.view(), mask_view = p.boolean_mask ? p.boolean_mask->view() : attune_tensor();
        AttentionArgs args(q, p.k.view(), v, out.view());
        args.lse = &lse_view, args.boolean_mask = p.boolean_mask ? &mask_view : nullptr;
        const Status status = plan->run(args, call);
        EXPECT_TRUE(status.ok()) << status.message;
        std::vector<uint8_t> bytes = out.bytes();
        bytes.insert(bytes.end(), lse.bytes().begin(), lse.bytes().end());
        return bytes;
    }

    TypedTensor normal(int64_t heads, int64_t tokens, int64_t dim) {
        const Tensor<float> numbers({1, heads, tokens, dim});
        random.fill_normal(numbers, 1);
        return TypedTensor(kernel().dtype, numbers);
    }

    void expect_same_bits(const Problem &p) {
        const std::vector<uint8_t> one = run(p, Call(1));
        for (const int32_t threads : {2, 3, 16})
            EXPECT_EQ(run(p, Call(threads)), one) << threads << " threads, mask '" << p.mask << "'";
    }
};
INSTANTIATE_TEST_SUITE_P(Prebuilt, AttentionTasks, ::testing::ValuesIn(kernels_of_all_types("attention")), kernel_name);

// Tasks of a tile each, and of several: rows that skip keys, values that aren't finite in some of the tasks' keys alone, and a last tile
// that isn't whole.
TEST_P(AttentionTasks, ThreadsChangeNoBit) {
    const int64_t queries = 1100, keys = 600, dim = head_dim_or(kernel(), 40);
    Problem p{normal(1, queries, dim), normal(1, keys, dim), normal(1, keys, dim), "none"};
    expect_same_bits(p);
    for (const int64_t key : {3, 550})
        p.v.set({0, 0, key, 1}, std::numeric_limits<float>::quiet_NaN());
    for (const char *mask : {"none", "causal(bottom_right)", "window(70, 10, bottom_right)", "causal(top_left) | prefix(5)"}) {
        p.mask = mask;
        expect_same_bits(p);
    }
}

TEST_P(AttentionTasks, ThreadsChangeNoBitOfAFewHeads) {
    const int64_t queries = 333, keys = 200, dim = head_dim_or(kernel(), 24);
    Tensor<uint8_t> allowed({1, 1, queries, keys});
    for (int64_t i = 0; i < queries; i++)
        for (int64_t j = 0; j < keys; j++)
            allowed(0, 0, i, j) = (i / 50 + j / 30) % 3 == 0;
    expect_same_bits({normal(3, queries, dim), normal(3, keys, dim), normal(3, keys, dim), "none", &allowed});
}

int32_t run_tasks(void *most, int32_t count, int (*task)(void *, int32_t), void *closure) {
    auto &tasks = *static_cast<int32_t *>(most);
    tasks = std::max(tasks, count);
    for (int32_t i = 0; i < count; i++)
        if (const int code = task(closure, i)) return code;
    return 0;
}

TEST_P(AttentionTasks, OfOneHeadAreAsManyAsThreads) {
    if (std::string(kernel().schedule) != "flash") GTEST_SKIP() << "cuts no head, or never by threads";
    const int64_t tokens = 1024, dim = head_dim_or(kernel(), 40);
    const Problem p{normal(1, tokens, dim), normal(1, tokens, dim), normal(1, tokens, dim), "none"};
    for (const int32_t threads : {2, 8}) {
        int32_t tasks = 0;
        Call call(threads);
        call.parallel_for = run_tasks, call.pool = &tasks;
        run(p, call);
        EXPECT_GE(tasks, threads);
    }
}

} // namespace
} // namespace attune::test
