#include "runtime/src/mask/intervals.h"

#include <algorithm>

namespace attune::runtime {

size_t intersect(const Interval *a, size_t a_size, const Interval *b, size_t b_size, Interval *out) {
    size_t i = 0, j = 0, size = 0;
    while (i < a_size && j < b_size) {
        const Interval common = {std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
        if (common.begin < common.end) out[size++] = common;
        if (a[i].end < b[j].end) {
            ++i;
        } else {
            ++j;
        }
    }
    return size;
}

size_t unite(const Interval *a, size_t a_size, const Interval *b, size_t b_size, Interval *out) {
    size_t i = 0, j = 0, size = 0;
    while (i < a_size || j < b_size) {
        const bool from_a = j == b_size || (i < a_size && a[i].begin <= b[j].begin);
        const Interval next = from_a ? a[i++] : b[j++];
        if (size > 0 && next.begin <= out[size - 1].end) {
            out[size - 1].end = std::max(out[size - 1].end, next.end);
        } else {
            out[size++] = next;
        }
    }
    return size;
}

size_t complement(const Interval *a, size_t size, int32_t universe, Interval *out) {
    size_t count = 0;
    int32_t begin = 0;
    for (size_t i = 0; i < size; ++i) {
        if (begin < a[i].begin) out[count++] = {begin, a[i].begin};
        begin = a[i].end;
    }
    if (begin < universe) out[count++] = {begin, universe};
    return count;
}

} // namespace attune::runtime
