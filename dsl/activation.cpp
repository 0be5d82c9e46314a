#include "dsl/activation.h"

#include "dsl/numeric.h"

namespace attune::dsl {

using Halide::Expr;

namespace {

constexpr float log2_e = 1.44269504088896f;

// ln(e^(z^2) erfc(z) / t) for z >= 0, where t = 1 / (1 + 0.4 z): a fit by Chebyshev polynomials of degree 8, within 1.7e-7 up to z = 10.
Expr log_scaled_erfc(const Expr &t) {
    return horner(
        t, {-1.48874629f, 1.00231004f, 0.395332932f, 0.317978054f, -0.485119671f, 1.05971849f, -1.53893888f, 0.950186968f, -0.21272181f});
}

} // namespace

Expr relu(const Expr &x) { return select(strict_less(x, 0.0f), 0.0f, x); }

Expr sigmoid(const Expr &x) {
    Expr e = exp2_scaled(-abs(x), log2_e);
    return select(strict_less(x, 0.0f), e, 1.0f) / (1.0f + e);
}

Expr normal_distribution(const Expr &x) {
    // erfc(z) / 2 for z = |x| / sqrt 2: the upper tail. The exponent is negative for every z.
    Expr z = abs(x) * 0.707106781f, t = 1.0f / (1.0f + 0.4f * z);
    Expr tail = 0.5f * t * exp2_scaled(log_scaled_erfc(t) - z * z, log2_e);
    return select(strict_less(x, 0.0f), tail, 1.0f - tail);
}

Expr gelu(const Expr &x) { return x * normal_distribution(x); }

Expr gelu_tanh(const Expr &x) {
    // (1 + tanh u) / 2 is sigmoid(2 u).
    Expr twice_u = x * (1.5957691216f + 0.0713548163f * x * x);
    return x * sigmoid(twice_u);
}

Expr silu(const Expr &x) { return x * sigmoid(x); }

Expr activate(Activation activation, const Expr &x) {
    switch (activation) {
    case activation_relu:
        return relu(x);
    case activation_gelu:
        return gelu(x);
    case activation_gelu_tanh:
        return gelu_tanh(x);
    case activation_silu:
        return silu(x);
    default:
        return x;
    }
}

} // namespace attune::dsl
