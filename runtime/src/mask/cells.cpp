#include "runtime/src/mask/cells.h"

#include <algorithm>

#include "runtime/src/tensor/tensor.h"
#include "text/evaluate.h"

namespace attune::runtime {

namespace {

/** A boolean tensor of rank 4 at one item and head, whose last two axes are rows and columns, each full or 1. */
struct Plane {
    const uint8_t *data = nullptr;
    int64_t row_stride = 0, column_stride = 0;

    Plane(const attune_tensor *tensor, int64_t item, int64_t head) {
        if (!tensor) return;
        data = static_cast<const uint8_t *>(tensor->data) + item * effective_stride(*tensor, 0) + head * effective_stride(*tensor, 1);
        row_stride = effective_stride(*tensor, 2), column_stride = effective_stride(*tensor, 3);
    }
    bool at(int64_t row, int64_t column) const { return data[row * row_stride + column * column_stride] != 0; }
};

/** What terms read that isn't 64 bits wide in the call. */
class WideNumbers {
public:
    explicit WideNumbers(Call &call) : memory_(call) {}

    Status fill(const PlanMask &mask, const MaskInput &input) {
        parameters_ = mask.mask.parameters.size();
        const size_t count = parameters_ + static_cast<size_t>(input.queries + input.keys);
        if (!memory_.allocate(count)) return out_of_memory("the mask of the weights", static_cast<int64_t>(count * 8));
        std::copy(input.params, input.params + parameters_, memory_.data());
        return {};
    }
    void set_item(const MaskInput &input, const DocumentSets &documents, int64_t item, text::MaskCell &cell) {
        cell.parameters = memory_.data();
        if (!documents.filled()) return;
        const int64_t place = documents.items() > 1 ? item : 0;
        int64_t *queries = memory_.data() + parameters_, *keys = queries + input.queries;
        std::copy_n(documents.query_numbers() + place * input.queries, input.queries, queries);
        std::copy_n(documents.key_numbers() + place * input.keys, input.keys, keys);
        cell.query_documents = queries, cell.key_documents = keys;
    }

private:
    Scratch<int64_t> memory_;
    size_t parameters_ = 0;
};

text::MaskCell cell_of(const MaskInput &input, int64_t item) {
    text::MaskCell cell;
    cell.queries = input.queries, cell.keys = input.keys;
    cell.offset = input.offsets ? read_integer(*input.offsets, item) : input.offset;
    cell.length = input.key_lengths ? read_integer(*input.key_lengths, item) : input.keys;
    return cell;
}

} // namespace

Status write_mask_cells(const PlanMask &mask, const MaskInput &input, const attune_tensor *boolean_mask, const attune_tensor *block_map,
                        const DocumentSets &documents, Call &call, const attune_tensor &cells) {
    WideNumbers numbers(call);
    ATTUNE_TRY(numbers.fill(mask, input));
    auto *row = static_cast<uint8_t *>(cells.data);
    for (int64_t item = 0; item < cells.extent[0]; ++item) {
        text::MaskCell cell = cell_of(input, item);
        numbers.set_item(input, documents, item, cell);
        for (int64_t head = 0; head < cells.extent[1]; ++head) {
            const Plane tensor(boolean_mask, item, head), blocks(block_map, item, head);
            cell.tensor = [&tensor](int64_t query, int64_t key) { return tensor.at(query, key); };
            cell.block = [&blocks](int64_t query_block, int64_t key_block) { return blocks.at(query_block, key_block); };
            for (cell.query = 0; cell.query < input.queries; ++cell.query, row += input.keys)
                text::allows(mask.rest, cell, input.keys, row);
        }
    }
    return {};
}

void restrict_to(const attune_tensor &boolean_mask, const attune_tensor &cells) {
    auto *cell = static_cast<uint8_t *>(cells.data);
    for (int64_t item = 0; item < cells.extent[0]; ++item)
        for (int64_t head = 0; head < cells.extent[1]; ++head) {
            const Plane tensor(&boolean_mask, item, head);
            for (int64_t i = 0; i < cells.extent[2]; ++i)
                for (int64_t j = 0; j < cells.extent[3]; ++j, ++cell)
                    *cell = *cell && tensor.at(i, j);
        }
}

} // namespace attune::runtime
