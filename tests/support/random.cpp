#include "random.h"

#include <cstdlib>
#include <string>

namespace attune::test {

double Random::normal(double deviation, double mean) { return mean + deviation * normal_(engine_); }

void Random::fill_normal(const Tensor<float> &tensor, double deviation, double mean) {
    tensor.each([&](float &value) { value = static_cast<float>(normal(deviation, mean)); });
}

void Random::fill_boolean(const Tensor<uint8_t> &tensor, double probability) {
    const uint8_t truths[] = {1, 2, 255};
    tensor.each([&](uint8_t &value) { value = chance(probability) ? truths[between(0, 2)] : 0; });
}

uint64_t current_test_seed() {
    if (const char *given = std::getenv("ATTUNE_TEST_SEED")) return std::strtoull(given, nullptr, 10);
    const ::testing::TestInfo *test = ::testing::UnitTest::GetInstance()->current_test_info();
    const std::string name = std::string(test->test_suite_name()) + "." + test->name();
    uint64_t hash = 14695981039346656037u; // FNV-1a, so that a seed is the same on every machine
    for (unsigned char c : name)
        hash = (hash ^ c) * 1099511628211u;
    return hash;
}

} // namespace attune::test
