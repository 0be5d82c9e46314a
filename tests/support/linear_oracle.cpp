#include "linear_oracle.h"

#include <cmath>

namespace attune::test {
namespace {

template <typename Number> std::vector<Number> numbers(const std::vector<double> &values) { return {values.begin(), values.end()}; }

/** Products of every row with every column of `weight`. Each sum runs from the first term to the last; columns are the inner loop, for
 * vectors. */
template <typename Number> std::vector<Number> products(const LinearProblem &p, const std::vector<double> &weight) {
    std::vector<Number> columns(weight.size()), sums(p.rows * p.out, 0);
    for (int64_t column = 0; column < p.out; column++)
        for (int64_t k = 0; k < p.in; k++)
            columns[k * p.out + column] = static_cast<Number>(weight[column * p.in + k]);
    const std::vector<Number> x = numbers<Number>(p.x);
    for (int64_t row = 0; row < p.rows; row++)
        for (int64_t k = 0; k < p.in; k++) {
            const Number factor = x[row * p.in + k], *from = &columns[k * p.out];
            Number *to = &sums[row * p.out];
            for (int64_t column = 0; column < p.out; column++)
                to[column] += factor * from[column];
        }
    return sums;
}

template <typename Number> std::vector<double> linear_of(const LinearProblem &p) {
    std::vector<Number> value = products<Number>(p, p.weight);
    for (size_t place = 0; !p.bias.empty() && place < value.size(); place++)
        value[place] += static_cast<Number>(p.bias[place % p.out]);
    const std::vector<Number> inner = p.gate.empty() ? value : products<Number>(p, p.gate);
    std::vector<double> y;
    for (size_t place = 0; place < value.size(); place++) {
        Number result = static_cast<Number>(activate(p.activation, static_cast<double>(inner[place])));
        if (!p.gate.empty()) result *= value[place];
        if (!p.residual.empty()) result += static_cast<Number>(p.residual[place]);
        y.push_back(static_cast<double>(result));
    }
    return y;
}

} // namespace

double activate(attune_activation activation, double x) {
    switch (activation) {
    case ATTUNE_RELU:
        return x < 0 ? 0 : x;
    case ATTUNE_GELU:
        return x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case ATTUNE_GELU_TANH:
        return x / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case ATTUNE_SILU:
        return x / (1 + std::exp(-x));
    case ATTUNE_ACTIVATION_NONE:
        break;
    }
    return x;
}

std::vector<double> linear_in_double(const LinearProblem &problem) { return linear_of<double>(problem); }
std::vector<double> linear_in_float(const LinearProblem &problem) { return linear_of<float>(problem); }

} // namespace attune::test
