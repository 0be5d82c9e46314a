// How fake kernels read what they are called with.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>

#define halide_do_par_for attune_halide_do_par_for
#define halide_error attune_halide_error
#define halide_free attune_halide_free
#define halide_malloc attune_halide_malloc
#include <HalideRuntime.h>

namespace attune::runtime {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/** Reads the arguments of one call in order. */
struct Arguments {
    explicit Arguments(void **arguments) : next(arguments) {}
    halide_buffer_t *buffer() { return static_cast<halide_buffer_t *>(*next++); }
    template <typename T> T number() { return *static_cast<T *>(*next++); }
    void **next;
};

template <typename T> inline T &at(const halide_buffer_t *buffer, std::initializer_list<int64_t> index) {
    int64_t offset = 0;
    int axis = 0;
    for (int64_t i : index)
        offset += i * buffer->dim[axis++].stride;
    return reinterpret_cast<T *>(buffer->host)[offset];
}

} // namespace attune::runtime
