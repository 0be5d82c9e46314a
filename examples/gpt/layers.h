// From a checkpoint's tensors to Attune's layers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <attune/attune.hpp>

#include "buffer.h"
#include "checkpoint.h"

namespace gpt {

/** A matrix [rows, columns] and, if it isn't empty, a vector [rows]. */
struct Matrix {
    int64_t rows = 0, columns = 0;
    std::vector<float> values, bias;
    bool transposed = false; // in memory: [columns, rows]

    attune::TensorView view() const;
};

/** NAME.weight [rows, columns] and, where the checkpoint has it, NAME.bias. */
Matrix read_matrix(const Checkpoint &checkpoint, const std::string &name, int64_t rows, int64_t columns);

/** The same, where the checkpoint keeps NAME.weight as [columns, rows], as GPT-2's does. */
Matrix read_transposed(const Checkpoint &checkpoint, const std::string &name, int64_t rows, int64_t columns);

/** The rows of all, one below the other. A bias that some lack is 0 there. */
Matrix stack(const std::vector<Matrix> &parts);

/** activation(x W^T + b), or with a gate activation(x G^T) (x W^T + b). The matrices may go afterwards. */
attune::Linear make_linear(attune_type dtype, const Matrix &weight, attune_activation activation = ATTUNE_ACTIVATION_NONE,
                           const Matrix *gate = nullptr);

/** The tensor NAME, [rows, columns], in memory as that type: a table whose rows are looked up. */
Buffer read_table(const Checkpoint &checkpoint, const std::string &name, int64_t rows, int64_t columns, attune_type dtype);

/** What a norm adds to a variance: the number NAME of config.json, 0 or more, or `otherwise`. */
float norm_epsilon(const Checkpoint &checkpoint, const char *name, double otherwise);

/** By the name that a config.json has for it. */
attune_activation activation_of(const std::string &name);

} // namespace gpt
