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

/** "<f4" for ATTUNE_F32, and so on. */
std::string_view npy_descr(attune_type type);

/** Magic, version 1.0, length and dictionary for a C-order array, padded so that the data starts at a multiple of 64. */
std::string npy_header(attune_type type, const Shape &shape);

/** Reads a whole file of version 1, 2 or 3, C order, whose elements are of one of the `accepted` types.
 * Throws CommandError, naming the file, for a file that can't be read, isn't one, is truncated or has bytes past its data. */
Array read_npy(const std::string &file, std::initializer_list<attune_type> accepted);

} // namespace attune::tools
