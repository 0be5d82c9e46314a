// Tensors for tests: owned memory seen through any strides, with canaries wherever no element lies.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "attune/attune.h"

namespace attune::test {

using Extents = std::vector<int64_t>;

/** What fills memory that no element addresses. For floats a quiet NaN whose bits no computation here produces. */
template <typename T> T canary();
template <> inline float canary<float>() {
    const uint32_t bits = 0x7fc0dead;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
template <> inline uint8_t canary<uint8_t>() { return 0xad; }
template <> inline int32_t canary<int32_t>() { return -0x7eadbeef; }
template <> inline int64_t canary<int64_t>() { return -0x7eadbeef; }

template <typename T> constexpr attune_type element_type();
template <> constexpr attune_type element_type<float>() { return ATTUNE_F32; }
template <> constexpr attune_type element_type<uint8_t>() { return ATTUNE_BOOL; }
template <> constexpr attune_type element_type<int32_t>() { return ATTUNE_I32; }
template <> constexpr attune_type element_type<int64_t>() { return ATTUNE_I64; }

/** How a tensor lies in memory: its axes from slowest to fastest, and unused elements after each run of the fastest. */
struct Layout {
    std::vector<int> order; // empty: as written, outermost first
    int64_t padding = 0;

    static Layout heads_first(int64_t padding = 0) { return {{0, 1, 2, 3}, padding}; }
    static Layout tokens_first(int64_t padding = 0) { return {{0, 2, 1, 3}, padding}; } // [batch, tokens, heads, dim]
};

/**
 * Memory with strides. Copies share the memory; clone() doesn't. Every element starts as a canary, as does the memory between
 * elements and in a guard before and after them, so that one comparison finds what was never written and another what was
 * written outside.
 */
template <typename T> class Tensor {
public:
    Tensor() = default;
    explicit Tensor(Extents extents, const Layout &layout = {}) : extent(std::move(extents)), stride(extent.size(), 0) {
        const int rank = static_cast<int>(extent.size());
        int64_t next = 1;
        for (int place = rank - 1; place >= 0; place--) {
            const int axis = layout.order.empty() ? place : layout.order[place];
            stride[axis] = next;
            next = next * std::max<int64_t>(extent[axis], 1) + (place == rank - 1 ? layout.padding : 0);
        }
        first = guard;
        memory = std::make_shared<std::vector<T>>(next + 2 * guard, canary<T>());
    }

    int64_t elements() const {
        int64_t n = 1;
        for (int64_t e : extent)
            n *= e;
        return n;
    }
    T *data() const { return memory->data() + first; }
    template <typename... Index> T &operator()(Index... index) const {
        const std::array<int64_t, sizeof...(Index)> at{static_cast<int64_t>(index)...};
        int64_t place = first;
        for (size_t axis = 0; axis < at.size(); axis++)
            place += at[axis] * stride[axis];
        return (*memory)[place];
    }
    /** Calls f(T &) on every element in C order. */
    template <typename F> void each(F f) const {
        if (elements() > 0) walk(0, first, f);
    }
    std::vector<T> values() const {
        std::vector<T> all;
        all.reserve(elements());
        each([&](T &value) { all.push_back(value); });
        return all;
    }
    void fill(T value) const {
        each([&](T &element) { element = value; });
    }
    Tensor clone() const {
        Tensor copy = *this;
        copy.memory = std::make_shared<std::vector<T>>(*memory);
        return copy;
    }
    /** The same values in memory of another layout. */
    Tensor laid_out(const Layout &layout) const {
        Tensor other(extent, layout);
        const std::vector<T> all = values();
        size_t next = 0;
        other.each([&](T &element) { element = all[next++]; });
        return other;
    }
    /** Axes of extent 1 seen as wide as `full`, through a stride of zero. */
    Tensor broadcast(const Extents &full) const {
        Tensor wide = *this;
        for (size_t axis = 0; axis < full.size(); axis++)
            if (extent[axis] == 1 && full[axis] != 1) wide.extent[axis] = full[axis], wide.stride[axis] = 0;
        return wide;
    }
    /** One index of the outermost axis, kept as an axis of extent 1. */
    Tensor item(int64_t index) const {
        Tensor part = *this;
        part.first += index * stride[0];
        part.extent[0] = 1;
        return part;
    }

    attune_tensor view() const {
        attune_tensor v = attune_contiguous(data(), element_type<T>(), static_cast<int32_t>(extent.size()), extent.data());
        for (size_t axis = 0; axis < extent.size(); axis++)
            v.stride[axis] = stride[axis];
        return v;
    }
    /** Whether all memory that no element addresses still holds its canary, bit for bit. */
    bool canaries_intact() const {
        std::vector<char> used(memory->size());
        each([&](T &element) { used[&element - memory->data()] = 1; });
        for (size_t place = 0; place < used.size(); place++)
            if (!used[place] && !is_canary((*memory)[place])) return false;
        return true;
    }
    /** Whether nothing at all was written, elements included. */
    bool untouched() const {
        for (const T &value : *memory)
            if (!is_canary(value)) return false;
        return true;
    }

    Extents extent;
    std::vector<int64_t> stride;
    int64_t first = 0;
    std::shared_ptr<std::vector<T>> memory;

private:
    static constexpr int64_t guard = 64;

    static bool is_canary(const T &value) {
        const T expected = canary<T>();
        return std::memcmp(&value, &expected, sizeof(T)) == 0;
    }
    template <typename F> void walk(size_t axis, int64_t place, F &f) const {
        T *const at = memory->data() + place;
        if (axis == extent.size()) {
            f(*at);
            return;
        }
        const bool innermost = axis + 1 == extent.size();
        for (int64_t i = 0; i < extent[axis]; i++) {
            if (innermost)
                f(at[i * stride[axis]]);
            else
                walk(axis + 1, place + i * stride[axis], f);
        }
    }
};

// Compiled once, with the optimisation of the library of tests, as they look at every element of everything.
extern template class Tensor<float>;
extern template class Tensor<uint8_t>;
extern template class Tensor<int32_t>;
extern template class Tensor<int64_t>;

/** Query, key and value of one projection: three views of [batch, tokens, 3, heads, dim], each as [batch, heads, tokens, dim]. */
inline std::array<Tensor<float>, 3> packed_qkv(int64_t batch, int64_t heads, int64_t tokens, int64_t dim) {
    const Tensor<float> all({batch, tokens, 3, heads, dim});
    std::array<Tensor<float>, 3> parts;
    for (int part = 0; part < 3; part++) {
        parts[part] = all;
        parts[part].extent = {batch, heads, tokens, dim};
        parts[part].stride = {all.stride[0], all.stride[3], all.stride[1], 1};
        parts[part].first += part * all.stride[2];
    }
    return parts;
}

} // namespace attune::test
