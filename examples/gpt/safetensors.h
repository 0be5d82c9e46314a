// Reading .safetensors files (https://huggingface.co/docs/safetensors): eight bytes that hold the header's length, the header, a JSON
// object that says of each tensor its type, shape and place, and then the elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpt {

/** A tensor in a file: little-endian elements in C order, which need not be aligned. */
struct StoredTensor {
    std::string dtype; // "F32", "BF16", "F16", ...
    std::vector<int64_t> shape;
    std::string_view bytes;
};

using StoredTensors = std::map<std::string, StoredTensor>;

/** The tensors of a whole file's bytes, which they point into. Throws an Error, beginning with `file`, for anything the format forbids: all
 * that is returned lies within `bytes`, is as long as its type and shape say, and overlaps nothing. */
StoredTensors parse_safetensors(std::string_view bytes, const std::string &file);

/** The number of elements of a shape, none of them negative; -1 if it is past 2^62. */
int64_t count_elements(const std::vector<int64_t> &shape);

/** The elements as f32: of an F32, F16 or BF16 tensor, exactly. `name` is what the Error for others calls it. */
std::vector<float> to_f32(const StoredTensor &tensor, const std::string &name);

} // namespace gpt
