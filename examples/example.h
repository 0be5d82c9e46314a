// What the examples share: a matrix shown with labels, and compared with what it must be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace example {

using Labels = std::vector<std::string>;
using Rows = std::vector<std::vector<double>>;

/** "0", "1" ... */
inline Labels numbered(int count) {
    Labels labels;
    for (int i = 0; i < count; i++)
        labels.push_back(std::to_string(i));
    return labels;
}

/** Numbers in [-scale, scale) that are the same everywhere, as weights and inputs of the files in tests/golden: Wellons' hash lowbias32 of
 * seed and place. `scale` is a power of two. */
inline std::vector<float> numbers(uint32_t seed, size_t count, float scale = 1) {
    std::vector<float> all;
    for (uint32_t place = seed * 1000003u; all.size() < count; place++) {
        uint32_t x = place;
        x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16;
        all.push_back(static_cast<float>(static_cast<int32_t>(x) >> 8) * (scale / 8388608));
    }
    return all;
}

/** Prints a row-major matrix under its title, with a label for each row and column; of rows `width` long (0: as the labels say) the first
 * columns. */
inline void show(const std::string &title, const Labels &rows, const Labels &columns, const float *values, size_t width = 0) {
    std::printf("%-9s", title.c_str());
    for (const std::string &column : columns)
        std::printf(" %8s", column.c_str());
    for (const std::string &row : rows) {
        std::printf("\n%-9s", row.c_str());
        for (size_t j = 0; j < columns.size(); j++)
            std::printf(" %8.4f", values[j]);
        values += width ? width : columns.size();
    }
    std::printf("\n\n");
}

/** Whether every value is as expected: within 2e-6, or 2e-6 of it where it is above 1. Says which one isn't. */
inline bool check(const char *what, const float *values, const Rows &expected) {
    for (size_t i = 0; i < expected.size(); i++)
        for (size_t j = 0; j < expected[i].size(); j++) {
            const double value = *values++, right = expected[i][j];
            if (std::abs(value - right) <= 2e-6 * std::max(1.0, std::abs(right))) continue; // false for NaN
            std::fprintf(stderr, "%s[%zu][%zu] is %.9g; it must be %.9g\n", what, i, j, value, right);
            return false;
        }
    return true;
}

/** Prints why a call failed; the exit status of the example. */
inline int fail(const std::string &message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    return 1;
}

} // namespace example
