// The activation functions of feed-forward layers, in f32. NaN gives NaN.
#pragma once

#include <Halide.h>

namespace attune::dsl {

/** In the order of attune_activation. */
enum Activation { activation_none, activation_relu, activation_gelu, activation_gelu_tanh, activation_silu, activation_count };

/** max(x, 0). */
Halide::Expr relu(const Halide::Expr &x);

/** 1 / (1 + e^-x). */
Halide::Expr sigmoid(const Halide::Expr &x);

/** The normal distribution's Phi(x) = erfc(-x / sqrt 2) / 2; its relative error stays below 1e-6 down to x = -5. */
Halide::Expr normal_distribution(const Halide::Expr &x);

/** x Phi(x) (Hendrycks and Gimpel, arXiv 1606.08415, section 2). */
Halide::Expr gelu(const Halide::Expr &x);

/** x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), the same paper's approximation. */
Halide::Expr gelu_tanh(const Halide::Expr &x);

/** x sigmoid(x) (SiLU, also Swish). */
Halide::Expr silu(const Halide::Expr &x);

/** The activation of that number; x for activation_none. */
Halide::Expr activate(Activation activation, const Halide::Expr &x);

} // namespace attune::dsl
