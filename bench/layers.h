// Linear layers and encoder blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.h"

namespace attune::bench {

struct LayerCase {
    enum Kind { linear, encoder_block };
    std::string name;
    Kind kind;
    int64_t rows;    // of x
    int64_t outputs; // of the layer; of a block: channels between its last two layers
    int64_t inputs;  // of the layer; of a block: channels
    attune_type dtype = ATTUNE_F32;

    /** Operations of one call, a multiply-add counting as two: those of products with weights, and of attention. */
    double flops() const;
    double weight_bytes() const;
    /** Whether reading the weights takes longer than computing with them: up to eight rows. */
    bool memory_bound() const { return rows <= 8; }
};

/** Linear layers of several sizes, of one row and a few as in decoding, and encoder blocks as in BERT-base (12 heads, GELU, post-norm). */
const std::vector<LayerCase> &layer_cases();
std::optional<LayerCase> find_layer_case(const std::string &name);

/** What measure_layer() would answer at once: whether there is memory for it. */
Status check_layer(const LayerCase &c);

/** Times calls of the layer by each schedule in turn, as measure() does for attention, and keeps the fastest; a block has none to choose.
 * Memory-bound cases go round copies of their weights that outgrow four times the last-level cache. max_error is relative to the largest
 * exact value. Errors: what the library says; ATTUNE_OUT_OF_MEMORY where the tensors don't fit. */
Result<CaseResult> measure_layer(const LayerCase &c, const Settings &settings);

} // namespace attune::bench
