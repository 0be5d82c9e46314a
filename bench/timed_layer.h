// A layer as it is timed: its tensors, and what it should give.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "attune/attune.hpp"
#include "bench/elements.h"
#include "bench/exact.h"
#include "bench/layers.h"

namespace attune::bench {

/** A tensor of the case's type, and the f32 values that it holds. */
struct Operand {
    Buffer values, data;
    attune_type type;
    std::vector<int64_t> extents;

    /** Normally distributed. */
    Operand(attune_type dtype, std::vector<int64_t> shape, float deviation, std::mt19937_64 &random);
    TensorView view() const { return attune_contiguous(data.get(), type, static_cast<int32_t>(extents.size()), extents.data()); }
    Exact row(int64_t i) const { return {values.get() + i * extents.back(), values.get() + (i + 1) * extents.back()}; }
    /** W x + b; b may be nullptr. */
    Exact times(const Exact &x, const Operand *bias = nullptr) const;
};

/** [rows, columns], such that products keep the size of what they multiply. */
Operand matrix(attune_type dtype, int64_t rows, int64_t columns, std::mt19937_64 &random);

/** One layer, or equal ones by turns. */
class TimedLayer {
public:
    TimedLayer(const LayerCase &layer, int64_t outputs, std::mt19937_64 &random);
    virtual ~TimedLayer() = default;

    virtual Status run(int64_t copy, Call &call) = 0;
    virtual std::string schedule() const = 0;
    /** What a row of the output should be. */
    virtual Exact exact(int64_t row) const = 0;

    TensorView output() const { return attune_contiguous(y.get(), c.dtype, 2, std::array<int64_t, 2>{c.rows, y_columns}.data()); }
    void spoil_output() const { spoil(y, c.dtype, c.rows * y_columns); }
    /** Of the first rows, the last, and some between; relative to the largest exact value. */
    double max_error() const;

protected:
    const LayerCase c;
    const Operand x;
    const Buffer y;
    const int64_t y_columns;
};

/** A linear layer with bias, `copies` times. Errors: the library's. */
Result<std::unique_ptr<TimedLayer>> make_timed_linear(const LayerCase &c, const std::string &schedule, int64_t copies);

/** An encoder block, post-norm: Attention Is All You Need, section 3.1, with 12 heads and GELU, as BERT has it. */
Result<std::unique_ptr<TimedLayer>> make_timed_encoder(const LayerCase &c);

} // namespace attune::bench
