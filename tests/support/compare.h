// Comparisons in which NaN agrees with NaN alone, and a tolerance is a value.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tensor.h"

namespace attune::test {

/** The distance from |magnitude| to the next larger float. */
double ulp_at(double magnitude);

/** How far a result may be from float64's: an absolute part, and ulps of f32 at a given magnitude (0: at each expected value). */
struct Tolerance {
    double absolute = 0;
    double ulps = 0;
    double magnitude = 0;

    double limit(double expected) const;
};

/** The largest |got - want| over the places where both are finite. */
double largest_error(const std::vector<double> &got, const std::vector<double> &want);

/** The largest finite magnitude; 0 if there is none. */
double largest_magnitude(const std::vector<double> &values);

/**
 * The rule of accuracy: twice the largest error of the textbook form with every intermediate rounded to f32, plus one ulp at
 * `magnitude`, the largest value that enters the result.
 */
inline Tolerance twice(double rounding_error, double magnitude) { return {2 * rounding_error, 1, magnitude}; }
inline Tolerance twice_rounded(const std::vector<double> &exact, const std::vector<double> &rounded, double magnitude) {
    return twice(largest_error(rounded, exact), magnitude);
}

/**
 * Agreement place by place: NaN where and only where NaN is expected, the same infinity, and otherwise within the tolerance.
 * At least `finite_share` of the expected values must be finite, so that agreement says something. `offset` of a place is
 * reported by its index in C order.
 */
::testing::AssertionResult agrees(const std::vector<double> &got, const std::vector<double> &want, const Tolerance &tolerance,
                                  double finite_share = 0.5);

std::vector<double> to_double(const std::vector<float> &values);
inline std::vector<double> to_double(const Tensor<float> &tensor) { return to_double(tensor.values()); }

/** The same bits, place by place. */
::testing::AssertionResult same_bits(const std::vector<float> &got, const std::vector<float> &want);
inline ::testing::AssertionResult same_bits(const Tensor<float> &got, const Tensor<float> &want) {
    return same_bits(got.values(), want.values());
}

} // namespace attune::test
