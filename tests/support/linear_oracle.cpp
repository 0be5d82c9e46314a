#include "linear_oracle.h"

#include <cmath>

namespace attune::test {
namespace {

template <typename Number> Number dot(const LinearProblem &p, const std::vector<double> &weight, int64_t row, int64_t column) {
    Number sum = 0;
    for (int64_t k = 0; k < p.in; k++) {
        const Number product = static_cast<Number>(p.x[row * p.in + k]) * static_cast<Number>(weight[column * p.in + k]);
        sum += product;
    }
    return sum;
}

template <typename Number> std::vector<double> linear_of(const LinearProblem &p) {
    std::vector<double> y;
    for (int64_t row = 0; row < p.rows; row++)
        for (int64_t column = 0; column < p.out; column++) {
            Number value = dot<Number>(p, p.weight, row, column);
            if (!p.bias.empty()) value += static_cast<Number>(p.bias[column]);
            const Number inner = p.gate.empty() ? value : dot<Number>(p, p.gate, row, column);
            Number result = static_cast<Number>(activate(p.activation, static_cast<double>(inner)));
            if (!p.gate.empty()) result *= value;
            if (!p.residual.empty()) result += static_cast<Number>(p.residual[row * p.out + column]);
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
