// What the examples share: a matrix shown with labels, and compared with what it must be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace example {

using Labels = std::vector<std::string>;
using Rows = std::vector<std::vector<double>>;

/** Prints a row-major matrix under its title, with a label for each row and column. */
inline void show(const std::string &title, const Labels &rows, const Labels &columns, const float *values) {
    std::printf("%-9s", title.c_str());
    for (const std::string &column : columns)
        std::printf(" %8s", column.c_str());
    for (const std::string &row : rows) {
        std::printf("\n%-9s", row.c_str());
        for (size_t j = 0; j < columns.size(); j++)
            std::printf(" %8.4f", *values++);
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
