// A tensor as an input of a declaration.
#pragma once

#include "jit_attention.h"

namespace attune::test {

template <typename T> Halide::Func func_of(const Tensor<T> &tensor) {
    Halide::Buffer<T> buffer = buffer_of(tensor);
    return Halide::Func(buffer);
}

} // namespace attune::test
