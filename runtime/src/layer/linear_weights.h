// The weights of a linear layer as its kernels take them: see dsl/linear.h, packed_weight.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/src/kernel/page_memory.h"
#include "runtime/src/status.h"

namespace attune::runtime {

/** Panels of 32 outputs. A word is a weight of f32, or two of bf16 that follow one another along the input. */
class PackedWeights {
public:
    static constexpr int64_t panel_columns = 32;

    /** Zeros for `matrices` (1, or 2 with a gate) of [out, in]; ATTUNE_OUT_OF_MEMORY where there is no memory. */
    Status allocate(attune_type dtype, int64_t out, int64_t in, int64_t matrices);
    /** Copies a weight, f32 or bf16 [out, in], into one of the matrices, from a panel on. */
    void pack(const attune_tensor &weight, int64_t matrix, int64_t first_panel = 0);

    const void *data(int64_t first_panel = 0) const { return words_of(first_panel); }
    attune_type dtype() const { return dtype_; }
    int64_t panels() const { return panels_; }
    int64_t words() const { return words_per_column_; }
    int64_t matrices() const { return matrices_; }
    size_t bytes() const { return static_cast<size_t>(panels_ * words_per_panel()) * sizeof(uint32_t); }

private:
    uint32_t *words_of(int64_t panel) const { return reinterpret_cast<uint32_t *>(memory_.data()) + panel * words_per_panel(); }
    int64_t words_per_panel() const { return matrices_ * words_per_column_ * panel_columns; }

    PageMemory memory_;
    attune_type dtype_ = ATTUNE_F32;
    int64_t panels_ = 0;
    int64_t words_per_column_ = 0;
    int64_t matrices_ = 1;
};

} // namespace attune::runtime
