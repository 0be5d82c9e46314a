// Layer norm and RMS norm of rows.
#pragma once

#include <Halide.h>

#include "dsl/products.h"
#include "dsl/row_chunks.h"

namespace attune::dsl {

/** layer: y = (x - mean) / sqrt(variance + epsilon) w + b (Ba et al., arXiv 1607.06450, section 3.1); the variance is that of the C
 * channels, divided by C. rms: y = x / sqrt(mean of x^2 + epsilon) w (Zhang and Sennrich, arXiv 1910.07467, eq. 4). */
enum class NormKind { layer, rms };

struct NormInputs {
    Halide::Func x;        // f32 or bf16 (channel, row)
    Halide::Func weight;   // f32 (channel)
    Halide::Func bias;     // f32 (channel); layer alone
    Halide::Expr channels; // C
    Halide::Expr epsilon;
    Halide::Type type; // of y
};

/** A row's statistics are taken in f32; those of layer norm in two passes, so that a large mean costs no digits, of which the second
 * corrects the mean of rows of f32 (the corrected two-pass algorithm of Chan, Golub and LeVeque, "Algorithms for Computing the Sample
 * Variance", The American Statistician 37, 1983, eq. 1.7). */
struct Norm {
    NormKind kind;
    Halide::Func lane_sum;          // (lane, row): of the channels c = lane (mod lanes); layer alone
    std::vector<Halide::Func> sums; // as lane_sum, each of half the lanes of the one before; likewise
    Halide::Func sum;               // (row); likewise
    Halide::Func mean;              // (row); likewise
    Halide::Func lane_squares;      // (lane, row): of x (rms) or x - mean; of layer norm of f32 a Tuple of that, and the sum of x - mean
    std::vector<Halide::Func> halved_squares; // as lane_squares, likewise
    Halide::Func squares;                     // (row): their sum
    Halide::Func deviations;                  // (row): the sum of x - mean; layer norm of f32 alone
    Halide::Func statistics;      // (row): 1 / sqrt(mean of x^2 + epsilon); or a Tuple of the mean, and 1 / sqrt(variance + epsilon)
    Halide::Func y;               // (channel, row)
    std::vector<RowChunk> chunks; // over the channels, `lanes` at a time: the stages of lane_sum and lane_squares
    Halide::RDom lanes;           // over those that are left
};

struct NormShape {
    int lanes = 1;          // partial sums kept side by side
    int left = 1;           // lanes is this times a power of 2: they are halved until so many are left
    int vector = 0;         // lanes that are read at once, of what fills no `lanes`; 0: see row_chunks
    Rounding rounding = {}; // of results
};

Norm norm(NormKind kind, const NormInputs &inputs, const NormShape &shape);

/** y = a + b of rows: the residual that a norm follows. */
struct RowSum {
    Halide::Func y; // (channel, row)
};
RowSum row_sum(const Halide::Func &a, const Halide::Func &b, const Halide::Type &type);

} // namespace attune::dsl
