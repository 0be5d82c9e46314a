// The same bits for any number of threads, on any pool, on every run, and from many threads at once.
#include <atomic>
#include <cstring>
#include <thread>

#include <xmmintrin.h>

#include "agreement_test.h"

namespace attune::test {
namespace {

ATTUNE_AGREEMENT_SUITE(Threads);

TEST_P(Threads, AnyNumberGivesTheSameBits) {
    for (const AttentionProblem &p : problems()) {
        const AttentionRun one = run(p);
        for (int32_t threads : {2, 3, 7, 64, 0}) {
            SCOPED_TRACE(::testing::Message() << threads << " threads: " << describe(p));
            expect_same_bits(run(p, Call(threads)), one);
        }
    }
}

TEST_P(Threads, EveryRunGivesTheSameBits) {
    for (const AttentionProblem &p : problems()) {
        const AttentionRun first = run(p, Call(2));
        for (int again = 0; again < 5; again++)
            expect_same_bits(run(p, Call(2)), first);
    }
}

// Workers keep what they were made with, and round as whoever calls does, and take denormal numbers for zeros, if the caller does.
TEST(ThreadsOfOneCaller, RoundAsItDoes) {
    const unsigned before = _mm_getcsr();
    std::vector<float> x(2048 * 64), one(x.size()), many(x.size());
    for (size_t i = 0; i < x.size(); i++)
        x[i] = 1e-39f * float(i % 97) - 3e-38f;
    const auto norm = [&](std::vector<float> &y, int32_t threads) {
        Call call(threads);
        EXPECT_TRUE(rms_norm(TensorView(x.data(), {2048, 64}), TensorView(y.data(), {2048, 64}), {}, &call).ok());
    };
    norm(many, 2); // workers that are made now take denormal numbers as they are
    for (const unsigned arithmetic : {before | 0x8040, (before & ~0x6000u) | 0x4000}) { // flushed to zero; rounded up
        _mm_setcsr(arithmetic);
        norm(one, 1);
        for (int again = 0; again < 10; again++) {
            norm(many, 2);
            EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(float)), 0) << arithmetic;
        }
        _mm_setcsr(before);
    }
}

/** A caller's own pool: counts the tasks it was given, and runs them in an order of its own. */
struct Pool {
    bool reverse = false;
    std::atomic<int> tasks{0};

    static int run(void *self, int32_t count, int (*task)(void *, int32_t), void *closure) {
        Pool &pool = *static_cast<Pool *>(self);
        pool.tasks += count;
        int result = 0;
        for (int32_t i = 0; i < count && result == 0; i++)
            result = task(closure, pool.reverse ? count - 1 - i : i);
        return result;
    }
    /** Every task on a thread of its own. */
    static int spread(void *self, int32_t count, int (*task)(void *, int32_t), void *closure) {
        static_cast<Pool *>(self)->tasks += count;
        std::atomic<int> result{0};
        std::vector<std::thread> threads;
        for (int32_t i = 0; i < count; i++)
            threads.emplace_back([&, i] {
                const int failed = task(closure, i);
                if (failed != 0) result = failed;
            });
        for (std::thread &thread : threads)
            thread.join();
        return result;
    }
};

TEST_P(Threads, ACallersPoolGivesTheSameBits) {
    for (const AttentionProblem &p : problems()) {
        const AttentionRun one = run(p);
        for (auto [how, reverse] : {std::pair(&Pool::run, false), {&Pool::run, true}, {&Pool::spread, false}}) {
            Pool pool;
            pool.reverse = reverse;
            Call call(5);
            call.parallel_for = how, call.pool = &pool;
            expect_same_bits(run(p, call), one);
            if (std::string_view(kernel().schedule) == "flash") {
                EXPECT_GT(pool.tasks, 0) << describe(p);
            }
        }
    }
}

TEST_P(Threads, APoolThatFailsFailsTheCall) {
    Call call;
    call.parallel_for = [](void *, int32_t, int (*)(void *, int32_t), void *) { return 77; };
    const AttentionRun failed = run(problems()[1], call);
    if (std::string_view(kernel().schedule) == "flash") {
        EXPECT_EQ(failed.status.code, ATTUNE_INTERNAL);
        EXPECT_NE(failed.status.message, "");
    }
    EXPECT_TRUE(run(problems()[1]).status.ok()) << "the next call is unharmed";
}

TEST_P(Threads, OnePlanRunsFromManyThreadsAtOnce) {
    const AttentionProblem p = problems()[0];
    const AttentionRun want = run_attention(kernel(), p, {true, false, {}, Call(1)});
    AttentionDesc desc;
    desc.head_dim = p.dim(), desc.value_dim = p.value_dim(), desc.schedule = kernel().schedule;
    const Result<AttentionPlan> plan = AttentionPlan::create(desc);
    ASSERT_TRUE(plan.ok()) << plan.status().message;
    std::vector<Tensor<float>> outs;
    for (int caller = 0; caller < 6; caller++)
        outs.push_back(Tensor<float>(want.out.extent));
    std::atomic<int> failed{0};
    std::vector<std::thread> callers;
    for (const Tensor<float> &out : outs)
        callers.emplace_back([&, out] {
            const AttentionArgs args(p.q.view(), p.k.view(), p.v.view(), out.view());
            for (int again = 0; again < 5; again++) {
                Call call(2);
                failed += !plan.value().run(args, call).ok();
            }
        });
    for (std::thread &caller : callers)
        caller.join();
    EXPECT_EQ(failed, 0);
    for (const Tensor<float> &out : outs)
        EXPECT_TRUE(same_bits(out, want.out));
}

TEST(ThreadsOfOtherOperations, AnyNumberGivesTheSameBits) {
    Random random(1);
    const Tensor<float> x({4, 8, 50, 64});
    random.fill_normal(x);
    const Tensor<float> turned(x.extent);
    RotaryOptions rotation;
    rotation.offset = 3;
    Call single(1);
    ASSERT_TRUE(rotary(x.view(), turned.view(), rotation, &single).ok());
    for (int32_t threads : {2, 3, 7}) {
        const Tensor<float> many(x.extent);
        Call call(threads);
        ASSERT_TRUE(rotary(x.view(), many.view(), rotation, &call).ok());
        EXPECT_TRUE(same_bits(many, turned)) << threads << " threads";
    }
    for (const std::string &schedule : schedules_of("softmax"))
        for (int32_t axis : {0, 2, 3}) {
            const Tensor<float> one(x.extent), many(x.extent);
            ASSERT_TRUE(softmax(x.view(), one.view(), {1, false, axis, nullptr, schedule}, &single).ok());
            for (int32_t threads : {2, 3, 7}) {
                Call call(threads);
                ASSERT_TRUE(softmax(x.view(), many.view(), {1, false, axis, nullptr, schedule}, &call).ok());
                EXPECT_TRUE(same_bits(many, one)) << schedule << ", axis " << axis << ", " << threads << " threads";
            }
        }
}

TEST(ThreadsOfOtherOperations, MergeGivesTheSameBits) {
    Random random(2);
    const Tensor<float> a({2, 3, 150, 40}), b({2, 3, 150, 40}), a_lse({2, 3, 150}), b_lse({2, 3, 150});
    for (const Tensor<float> *tensor : {&a, &b, &a_lse, &b_lse})
        random.fill_normal(*tensor);
    const auto merged = [&](int32_t threads) {
        const Tensor<float> out(a.extent), lse(a_lse.extent);
        Call call(threads);
        EXPECT_TRUE(merge({a.view(), a_lse.view()}, {b.view(), b_lse.view()}, {out.view(), lse.view()}, "", &call).ok());
        return out;
    };
    const Tensor<float> one = merged(1);
    for (int32_t threads : {2, 3, 7})
        EXPECT_TRUE(same_bits(merged(threads), one)) << threads << " threads";
}

} // namespace
} // namespace attune::test
