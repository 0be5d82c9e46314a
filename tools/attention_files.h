// The input files of `attune run attention`: read, checked against each other, viewed as rank 4.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "array.h"

namespace attune::tools {

/** Q, K and V, all of one rank: [B,H,N,D], [H,N,D] or [N,D]; the axes left out are 1. */
struct AttentionInputs {
    Array q, k, v;
    int64_t batch, query_heads, kv_heads, queries, keys, head_dim, value_dim;

    int rank() const { return static_cast<int>(q.shape.size()); }
    /** The shape of an output whose rank-4 shape would be `full`: axes that Q leaves out are left out here. */
    Shape output_shape(Shape full) const;
};

/** Reads the three files, of type `dtype`, or without one of that which Q's file says (f32, f16 or bf16). Throws CommandError naming the
 * file that is wrong. */
AttentionInputs read_attention_inputs(const std::string &q, const std::string &k, const std::string &v, std::optional<attune_type> dtype);

/** Reads an array of one of the types, of min_rank to max_rank. Throws CommandError. */
Array read_array(const std::string &file, std::initializer_list<attune_type> types, int min_rank, int max_rank);

/** Reads a mask tensor or bias, aligned at the right to [B,Hq,N,M], each axis full or 1. Throws CommandError. */
Array read_broadcast(const std::string &file, attune_type type, const AttentionInputs &inputs);

/** Reads one integer for each batch item: shape [B], or no axes where B is 1. Throws CommandError. */
Array read_per_batch(const std::string &file, const AttentionInputs &inputs);

/** read_per_batch, and every value from 0 to M. */
Array read_key_lengths(const std::string &file, const AttentionInputs &inputs);

} // namespace attune::tools
