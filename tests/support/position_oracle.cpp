#include "position_oracle.h"

#include <cmath>

namespace attune::test {
namespace {

long double angle(int64_t position, int64_t pair, int64_t width, double base) {
    return position * std::pow(static_cast<long double>(base), -2.0L * pair / width);
}

void turn(double *row, RotaryLayout layout, int64_t rotary_dim, int64_t position, double base) {
    for (int64_t pair = 0; pair < rotary_dim / 2; pair++) {
        double &a = row[layout == RotaryLayout::half ? pair : 2 * pair];
        double &c = row[layout == RotaryLayout::half ? pair + rotary_dim / 2 : 2 * pair + 1];
        const long double theta = angle(position, pair, rotary_dim, base), old_a = a, old_c = c;
        a = static_cast<double>(old_a * std::cos(theta) - old_c * std::sin(theta));
        c = static_cast<double>(old_c * std::cos(theta) + old_a * std::sin(theta));
    }
}

} // namespace

std::vector<double> rotary_in_long_double(const Tensor<float> &x, double base, RotaryLayout layout, int64_t rotary_dim, int64_t offset) {
    const int64_t tokens = x.extent[x.extent.size() - 2], dim = x.extent.back();
    const std::vector<float> all = x.values();
    std::vector<double> y(all.begin(), all.end());
    for (size_t row = 0; row * dim < y.size(); row++)
        turn(&y[row * dim], layout, rotary_dim, offset + row % tokens, base);
    return y;
}

std::vector<double> sinusoidal_in_long_double(int64_t tokens, int64_t dim, double base, int64_t offset) {
    std::vector<double> y;
    for (int64_t n = 0; n < tokens; n++)
        for (int64_t d = 0; d < dim; d++) {
            const long double theta = angle(offset + n, d / 2, dim, base);
            y.push_back(static_cast<double>(d % 2 == 0 ? std::sin(theta) : std::cos(theta)));
        }
    return y;
}

} // namespace attune::test
