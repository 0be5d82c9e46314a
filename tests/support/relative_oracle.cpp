#include "relative_oracle.h"

#include <algorithm>
#include <cmath>

namespace attune::test {
namespace {

/** A whole number, lowest digit first, in base 2^32. */
using Whole = std::vector<uint64_t>;

void multiply(Whole &number, uint64_t factor) {
    uint64_t carry = 0;
    for (uint64_t &digit : number) {
        digit = digit * factor + carry;
        carry = digit >> 32;
        digit &= 0xffffffff;
    }
    if (carry != 0) number.push_back(carry);
}

/** a^m b^n. */
Whole powers(uint64_t a, int64_t m, uint64_t b, int64_t n) {
    Whole number = {1};
    for (int64_t i = 0; i < m; i++)
        multiply(number, a);
    for (int64_t i = 0; i < n; i++)
        multiply(number, b);
    return number;
}

bool less(const Whole &a, const Whole &b) {
    if (a.size() != b.size()) return a.size() < b.size();
    return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
}

/** Buckets of one direction, and how far away the key is. */
struct OneSide {
    int64_t first, buckets, distance;
};

OneSide side_of(int64_t relative, const T5 &t5) {
    if (!t5.bidirectional) return {0, t5.buckets, relative < 0 ? -relative : 0};
    return {relative > 0 ? t5.buckets / 2 : 0, t5.buckets / 2, std::abs(relative)};
}

} // namespace

std::vector<double> slopes_in_double(int64_t heads) {
    const double log2_heads = std::log2(static_cast<double>(heads));
    if (log2_heads == std::floor(log2_heads)) {
        const double start = std::pow(2, -std::pow(2, -(log2_heads - 3)));
        std::vector<double> slopes;
        for (int64_t h = 0; h < heads; h++)
            slopes.push_back(start * std::pow(start, static_cast<double>(h)));
        return slopes;
    }
    const auto lower = static_cast<int64_t>(std::pow(2, std::floor(log2_heads)));
    std::vector<double> slopes = slopes_in_double(lower);
    const std::vector<double> higher = slopes_in_double(2 * lower);
    for (int64_t i = 0; i < heads - lower; i++)
        slopes.push_back(higher[2 * i]);
    return slopes;
}

// log(d / e) / log(m / e) * w >= k exactly where d^w e^k >= m^k e^w.
int64_t t5_bucket_in_integers(int64_t relative, const T5 &t5) {
    const OneSide side = side_of(relative, t5);
    const int64_t exact = side.buckets / 2, grown = side.buckets - exact;
    if (side.distance < exact) return side.first + side.distance;
    int64_t bucket = exact;
    for (int64_t k = 1; bucket < side.buckets - 1; k++, bucket++)
        if (less(powers(side.distance, grown, exact, k), powers(t5.max_distance, k, exact, grown))) break;
    return side.first + bucket;
}

int64_t t5_bucket_in_float(int64_t relative, const T5 &t5) {
    const OneSide side = side_of(relative, t5);
    const int64_t exact = side.buckets / 2;
    if (side.distance < exact) return side.first + side.distance;
    const float ratio = std::log(static_cast<float>(side.distance) / static_cast<float>(exact));
    const auto whole = static_cast<float>(std::log(static_cast<double>(t5.max_distance) / static_cast<double>(exact)));
    const float power = ratio / whole * static_cast<float>(side.buckets - exact);
    return side.first + std::min(exact + static_cast<int64_t>(power), side.buckets - 1);
}

} // namespace attune::test
