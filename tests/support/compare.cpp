#include "compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace attune::test {
namespace {

/** What a tolerance comes to at each expected value; worked out once where it is the same for all. */
class Limits {
public:
    explicit Limits(const Tolerance &tolerance) : tolerance_(tolerance), common_(tolerance.limit(0)) {}

    double at(double want) const { return tolerance_.ulps == 0 || tolerance_.magnitude != 0 ? common_ : tolerance_.limit(want); }

private:
    const Tolerance tolerance_;
    const double common_;
};

bool within(double got, double want, const Limits &limits) {
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
    if (std::isinf(want) || std::isinf(got)) return got == want;
    return std::abs(got - want) <= limits.at(want);
}

double excess(double got, double want, const Limits &limits) {
    if (!std::isfinite(got) || !std::isfinite(want)) return std::numeric_limits<double>::infinity();
    return std::abs(got - want) - limits.at(want);
}

} // namespace

double ulp_at(double magnitude) {
    const float f = std::min(static_cast<float>(std::abs(magnitude)), std::nextafter(std::numeric_limits<float>::max(), 0.0f));
    return static_cast<double>(std::nextafter(f, std::numeric_limits<float>::infinity())) - f;
}

double Tolerance::limit(double expected) const { return absolute + ulps * ulp_at(magnitude != 0 ? magnitude : expected); }

double largest_error(const std::vector<double> &got, const std::vector<double> &want) {
    double largest = 0;
    for (size_t i = 0; i < want.size(); i++)
        if (std::isfinite(got[i]) && std::isfinite(want[i])) largest = std::max(largest, std::abs(got[i] - want[i]));
    return largest;
}

double largest_magnitude(const std::vector<double> &values) {
    double largest = 0;
    for (double value : values)
        if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    return largest;
}

::testing::AssertionResult agrees(const std::vector<double> &got, const std::vector<double> &want, const Tolerance &tolerance,
                                  double finite_share) {
    if (got.size() != want.size()) return ::testing::AssertionFailure() << got.size() << " values; expected " << want.size();
    const Limits limits(tolerance);
    size_t finite = 0, wrong = 0, worst = 0;
    for (size_t i = 0; i < want.size(); i++) {
        finite += std::isfinite(want[i]);
        if (within(got[i], want[i], limits)) continue;
        if (wrong++ == 0 || excess(got[i], want[i], limits) > excess(got[worst], want[worst], limits)) worst = i;
    }
    if (wrong > 0)
        return ::testing::AssertionFailure() << wrong << " of " << want.size() << " values differ; the worst is [" << worst
                                             << "]: " << got[worst] << ", expected " << want[worst] << ", off by "
                                             << got[worst] - want[worst] << " where " << limits.at(want[worst]) << " is allowed";
    if (finite < finite_share * want.size())
        return ::testing::AssertionFailure() << finite << " of " << want.size() << " expected values are finite: too few to compare";
    return ::testing::AssertionSuccess();
}

std::vector<double> to_double(const std::vector<float> &values) { return {values.begin(), values.end()}; }

::testing::AssertionResult same_bits(const std::vector<float> &got, const std::vector<float> &want) {
    if (got.size() != want.size()) return ::testing::AssertionFailure() << got.size() << " values; expected " << want.size();
    for (size_t i = 0; i < want.size(); i++)
        if (std::memcmp(&got[i], &want[i], sizeof(float)) != 0)
            return ::testing::AssertionFailure() << "the bits of [" << i << "] differ: " << got[i] << ", expected " << want[i];
    return ::testing::AssertionSuccess();
}

} // namespace attune::test
