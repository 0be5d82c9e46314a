// Golden files: .npy of version 1.0, as numpy.save writes them.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "gpt/error.h"
#include "gpt/files.h"

namespace gpt {

/** The numbers of a file whose type is `descr`, "<f4" or "<i4". Throws an Error for other files. */
template <typename T> std::vector<T> read_npy(const std::string &path, const char *descr) {
    const std::string file = read_text(path);
    require(file.size() > 10 && file.compare(0, 8, std::string("\x93NUMPY\1\0", 8)) == 0, "{} isn't a .npy file of version 1.0", path);
    const size_t length = static_cast<unsigned char>(file[8]) + 256u * static_cast<unsigned char>(file[9]), begin = 10 + length;
    require(begin <= file.size() &&
                file.substr(10, length).find(std::string("'descr': '") + descr + "', 'fortran_order': False") != std::string::npos,
            "{} isn't of type {}", path, descr);
    std::vector<T> values((file.size() - begin) / sizeof(T));
    std::memcpy(values.data(), file.data() + begin, values.size() * sizeof(T));
    return values;
}

} // namespace gpt
