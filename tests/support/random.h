// Seeded inputs. The seed of a failing test is printed; ATTUNE_TEST_SEED=<seed> runs it again.
#pragma once

#include <cstdint>
#include <random>

#include <gtest/gtest.h>

#include "tensor.h"

namespace attune::test {

class Random {
public:
    explicit Random(uint64_t seed) : engine_(seed) {}

    double normal(double deviation = 1, double mean = 0);
    /** An integer of [low, high], both included. */
    int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
    bool chance(double probability) { return std::uniform_real_distribution<double>()(engine_) < probability; }

    void fill_normal(const Tensor<float> &tensor, double deviation = 1, double mean = 0);
    /** True with the given probability, as 1, 2 or 255: any byte but zero is true. */
    void fill_boolean(const Tensor<uint8_t> &tensor, double probability);

private:
    std::mt19937_64 engine_;
    std::normal_distribution<double> normal_;
};

/** The seed of the running test: its name's hash, or ATTUNE_TEST_SEED. */
uint64_t current_test_seed();

/** A test whose `random` is seeded by its name, and which prints the seed when it fails. */
class SeededTest : public virtual ::testing::Test {
protected:
    const uint64_t seed = current_test_seed();
    Random random{seed};

    void TearDown() override {
        if (HasFailure()) std::fprintf(stderr, "to repeat: ATTUNE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    }
};

template <typename T> class SeededTestWithParam : public SeededTest, public ::testing::WithParamInterface<T> {};

} // namespace attune::test
