// Every schedule of the table: what cuts its declaration, and what applies it.
#pragma once

#include "schedules/table.h"

namespace attune::schedules {

dsl::Blocking reference_blocking(const Machine &machine, int head_dim, const Halide::Expr &keys);
void reference_attention(const dsl::Attention &attention, const Machine &machine);
dsl::SimtBlocking reference_simt_blocking(const Machine &machine, int head_dim, const Halide::Expr &keys);
void reference_simt(const dsl::SimtAttention &attention, const Machine &machine);
void reference_weights(const dsl::AttentionWeights &weights, const Machine &machine);
dsl::SoftmaxShape reference_softmax_shape(const Machine &machine, const dsl::SoftmaxInputs &in);
void reference_softmax(const dsl::Softmax &softmax, const Machine &machine);
dsl::LinearBlocking reference_linear_blocking(const Machine &machine);
void reference_linear(const dsl::Linear &linear, const Machine &machine);
void reference_merge(const dsl::Merge &merge, const Machine &machine);
dsl::NormShape reference_norm_shape(const Machine &machine);
void reference_norm(const dsl::Norm &norm, const Machine &machine);
void reference_slopes(const dsl::AlibiSlopes &slopes, const Machine &machine);
void reference_relative_bias(const dsl::RelativeBias &bias, const Machine &machine);
dsl::RotaryShape reference_rotary_shape(const Machine &machine);
void reference_rotary(const dsl::Rotary &rotary, const Machine &machine);
void reference_rotary_table(const dsl::RotaryTable &table, const Machine &machine);
void reference_sinusoidal(const dsl::Sinusoidal &sinusoidal, const Machine &machine);
void reference_add_positions(const dsl::AddPositions &added, const Machine &machine);

namespace x86 {

dsl::Blocking flash_blocking(const Machine &machine, int head_dim, const Halide::Expr &keys);
/** Of f32, and of f16, where the machine has tiles of bf16: each number as three, or two, of those (dsl::Products). Elsewhere
 * flash_blocking(). */
dsl::Blocking flash_bf16x3_blocking(const Machine &machine, int head_dim, const Halide::Expr &keys);
dsl::Blocking flash_bf16x2_blocking(const Machine &machine, int head_dim, const Halide::Expr &keys);
void flash_attention(const dsl::Attention &attention, const Machine &machine);

dsl::Blocking materialized_blocking(const Machine &machine, int head_dim, const Halide::Expr &keys);
void materialized_attention(const dsl::Attention &attention, const Machine &machine);

dsl::DecodeBlocking decode_blocking(const Machine &machine, int head_dim, const dsl::AttentionInputs &inputs);
void decode_attention(const dsl::Decode &decode, const Machine &machine);

void vectorized_weights(const dsl::AttentionWeights &weights, const Machine &machine);

dsl::SoftmaxShape softmax_shape(const Machine &machine, const dsl::SoftmaxInputs &in);
void vectorized_softmax(const dsl::Softmax &softmax, const Machine &machine);
/** The passes that send past the caches, and pipeline, what vectorized_softmax() has made ready for it. */
void stream_softmax(Halide::Pipeline pipeline, const dsl::Softmax &softmax, const Machine &machine);
dsl::SoftmaxShape softmax_column_shape(const Machine &machine, const dsl::SoftmaxInputs &in);
void vectorized_softmax_columns(const dsl::Softmax &softmax, const Machine &machine);

dsl::LinearBlocking tiles_blocking(const Machine &machine);
void tiles_linear(const dsl::Linear &linear, const Machine &machine);
dsl::LinearBlocking row_blocking(const Machine &machine);
void row_linear(const dsl::Linear &linear, const Machine &machine);
dsl::LinearBlocking rows_blocking(const Machine &machine);
void rows_linear(const dsl::Linear &linear, const Machine &machine);
dsl::LinearBlocking eight_rows_blocking(const Machine &machine);
void eight_rows_linear(const dsl::Linear &linear, const Machine &machine);

void vectorized_merge(const dsl::Merge &merge, const Machine &machine);
dsl::NormShape norm_shape(const Machine &machine);
void vectorized_norm(const dsl::Norm &norm, const Machine &machine);
/** The passes that send past the caches, and pipeline, what vectorized_norm() has made ready for it; `x` is the name of the input. */
void stream_norm(Halide::Pipeline pipeline, const dsl::Norm &norm, const std::string &x, const Machine &machine);
void vectorized_row_sum(const dsl::RowSum &sum, const Machine &machine);
void vectorized_slopes(const dsl::AlibiSlopes &slopes, const Machine &machine);
void vectorized_relative_bias(const dsl::RelativeBias &bias, const Machine &machine);
dsl::RotaryShape rotary_shape(const Machine &machine);
void vectorized_rotary(const dsl::Rotary &rotary, const Machine &machine);
void vectorized_rotary_table(const dsl::RotaryTable &table, const Machine &machine);
void vectorized_sinusoidal(const dsl::Sinusoidal &sinusoidal, const Machine &machine);
void vectorized_add_positions(const dsl::AddPositions &added, const Machine &machine);

} // namespace x86

namespace cuda {

dsl::SimtBlocking simt_blocking(const Machine &machine, int head_dim, const Halide::Expr &keys);
dsl::SimtBlocking simt_split_blocking(const Machine &machine, int head_dim, const Halide::Expr &keys);
void simt_attention(const dsl::SimtAttention &attention, const Machine &machine);

dsl::SoftmaxShape softmax_shape(const Machine &machine, const dsl::SoftmaxInputs &in);
dsl::SoftmaxShape softmax_wide_shape(const Machine &machine, const dsl::SoftmaxInputs &in);
dsl::SoftmaxShape softmax_warp_shape(const Machine &machine, const dsl::SoftmaxInputs &in);
dsl::SoftmaxShape softmax_column_shape(const Machine &machine, const dsl::SoftmaxInputs &in);
void simt_softmax(const dsl::Softmax &softmax, const Machine &machine);
void wide_softmax(const dsl::Softmax &softmax, const Machine &machine);
void warps_softmax(const dsl::Softmax &softmax, const Machine &machine);
void simt_softmax_columns(const dsl::Softmax &softmax, const Machine &machine);

void simt_merge(const dsl::Merge &merge, const Machine &machine);
dsl::NormShape norm_shape(const Machine &machine);
void simt_norm(const dsl::Norm &norm, const Machine &machine);
void simt_row_sum(const dsl::RowSum &sum, const Machine &machine);
void simt_slopes(const dsl::AlibiSlopes &slopes, const Machine &machine);
void simt_relative_bias(const dsl::RelativeBias &bias, const Machine &machine);
dsl::RotaryShape rotary_shape(const Machine &machine);
void simt_rotary(const dsl::Rotary &rotary, const Machine &machine);
void simt_rotary_table(const dsl::RotaryTable &table, const Machine &machine);
void simt_sinusoidal(const dsl::Sinusoidal &sinusoidal, const Machine &machine);
void simt_token_positions(const dsl::TokenPositions &positions, const Machine &machine);
void simt_add_positions(const dsl::AddPositions &added, const Machine &machine);
void simt_cache_write(const dsl::CacheWrite &write, const Machine &machine);
void simt_cache_counts(const dsl::CacheCounts &counts, const Machine &machine);
int document_lanes(const Machine &machine);
void simt_document_ranges(const dsl::DocumentRanges &ranges, const Machine &machine);

} // namespace cuda
} // namespace attune::schedules
