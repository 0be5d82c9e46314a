// The linear layer by plain loops, in f64 or with every operation rounded to f32.
#pragma once

#include <vector>

#include "attune/attune.h"
#include "tensor.h"

namespace attune::test {

/** Numbers in C order. */
struct LinearProblem {
    int64_t rows = 0, in = 0, out = 0;
    std::vector<double> x, weight;            // [rows, in], [out, in]
    std::vector<double> bias, gate, residual; // [out], [out, in], [rows, out]; or none
    attune_activation activation = ATTUNE_ACTIVATION_NONE;
};

/** The activation of x. */
double activate(attune_activation activation, double x);

/** [rows, out]. */
std::vector<double> linear_in_double(const LinearProblem &problem);
/** The same with each product and each sum rounded to f32. */
std::vector<double> linear_in_float(const LinearProblem &problem);

} // namespace attune::test
