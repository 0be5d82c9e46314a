// Reading and describing .npy files, the format of numpy.save:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "array.h"

namespace attune::tools {

/** What the header's dictionary says. */
struct NpyHeader {
    std::string descr; // "<f4"
    bool fortran_order = false;
    Shape shape;
};

/** Parses the dictionary, a Python literal with the keys descr, fortran_order and shape in any order.
 * `file` names the file in the CommandError thrown for anything else. */
NpyHeader parse_npy_header(std::string_view dictionary, const std::string &file);

/** "<f4" for ATTUNE_F32, and so on; "<u2" for ATTUNE_BF16, which .npy has no name for. */
std::string_view npy_descr(attune_type type);

/** Magic, version 1.0, length and dictionary for a C-order array, padded so that the data starts at a multiple of 64. */
std::string npy_header(attune_type type, const Shape &shape);

/** Reads a whole file of version 1, 2 or 3, C order, whose elements are of one of the `accepted` types.
 * Throws CommandError, naming the file, for a file that can't be read, isn't one, is truncated or has bytes past its data. */
Array read_npy(const std::string &file, std::initializer_list<attune_type> accepted);

/** A file that may not be given, and its view. */
struct OptionalArray {
    Array array;
    TensorView tensor;

    const TensorView *view() const { return array.data ? &tensor : nullptr; }
};

/** Reads the file, of rank 1 to ATTUNE_MAX_RANK; nothing where the path is empty. */
OptionalArray read_optional(const std::string &file, std::initializer_list<attune_type> accepted);

/** Positions: 32- or 64-bit integers. */
inline OptionalArray read_positions(const std::string &file) { return read_optional(file, {ATTUNE_I32, ATTUNE_I64}); }

} // namespace attune::tools
