#include "runtime/src/layer/linear_weights.h"

#include <algorithm>

#include "runtime/src/divided_up.h"
#include "runtime/src/kernel/call.h"
#include "runtime/src/tensor/floats.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

constexpr int64_t words_at_once = 64; // a block of a panel, which stays in the first-level cache while its columns are filled in

uint32_t rounded_half(float value) { return bfloat16_bits(value); }

float value_of(float x) { return x; }
float value_of(uint16_t x) { return bfloat16_value(x); }

/** One column of a panel: words `first` to `end`, each `panel_columns` words apart. */
template <typename Element> struct Column {
    const Element *from; // of term 0
    int64_t stride;
    int64_t terms;
    uint32_t *to; // of word 0

    void copy(int64_t first, int64_t end) const {
        for (int64_t word = first; word < end; ++word)
            to[word * PackedWeights::panel_columns] = float_bits(value_of(from[word * stride]));
    }
    void copy_pairs(int64_t first, int64_t end) const {
        for (int64_t word = first; word < end; ++word) {
            const int64_t term = 2 * word;
            const uint32_t low = rounded_half(value_of(from[term * stride]));
            const uint32_t high = term + 1 < terms ? rounded_half(value_of(from[(term + 1) * stride])) : 0;
            to[word * PackedWeights::panel_columns] = low | high << 16;
        }
    }
};

template <typename Element> void pack_panel(const attune_tensor &weight, bool pairs, int64_t panel, int64_t words, uint32_t *to) {
    const int64_t first_row = panel * PackedWeights::panel_columns;
    const int64_t rows = std::min(PackedWeights::panel_columns, weight.extent[0] - first_row);
    const auto *from = static_cast<const Element *>(weight.data);
    for (int64_t word = 0; word < words; word += words_at_once)
        for (int64_t row = 0; row < rows; ++row) {
            const Column<Element> column = {from + (first_row + row) * effective_stride(weight, 0), effective_stride(weight, 1),
                                            weight.extent[1], to + row};
            const int64_t end = std::min(words, word + words_at_once);
            pairs ? column.copy_pairs(word, end) : column.copy(word, end);
        }
}

} // namespace

Status PackedWeights::allocate(attune_type dtype, int64_t out, int64_t in, int64_t matrices) {
    dtype_ = dtype, matrices_ = matrices;
    panels_ = divided_up(out, panel_columns);
    words_per_column_ = dtype == ATTUNE_BF16 ? divided_up(in, 2) : in;
    if (!memory_.allocate(bytes())) return out_of_memory("the packed weight", static_cast<int64_t>(bytes()));
    return {};
}

void PackedWeights::pack(const attune_tensor &weight, int64_t matrix, int64_t first_panel) {
    const int64_t panels = divided_up(weight.extent[0], panel_columns);
    for (int64_t panel = 0; panel < panels; ++panel) {
        uint32_t *to = words_of(first_panel + panel) + matrix * words_per_column_ * panel_columns;
        if (weight.type == ATTUNE_BF16)
            pack_panel<uint16_t>(weight, dtype_ == ATTUNE_BF16, panel, words_per_column_, to);
        else
            pack_panel<float>(weight, dtype_ == ATTUNE_BF16, panel, words_per_column_, to);
    }
}

} // namespace attune::runtime
