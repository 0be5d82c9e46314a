// ptxas, for tests that are skipped without it.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "generators/ptx/assemble.h"

namespace attune::ptx {

inline const std::string ptxas = ATTUNE_PTXAS;

inline AssembleOptions with_ptxas() { return {ptxas, testing::TempDir()}; }

#define NEEDS_PTXAS()                                                                                                                      \
    if (ptxas.empty())                                                                                                                     \
    GTEST_SKIP() << "there is no ptxas; pip install -r requirements-cuda.txt, then configure with -DATTUNE_PTXAS=its path"

/** `size` bytes as a number, the lowest first. */
inline uint64_t number_at(const std::string &bytes, size_t at, int size) {
    uint64_t value = 0;
    for (int i = size; i-- > 0;)
        value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
    return value;
}

} // namespace attune::ptx
