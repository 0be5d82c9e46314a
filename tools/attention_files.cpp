#include "attention_files.h"

#include <utility>

#include <fmt/format.h>

#include "error.h"
#include "npy.h"

namespace attune::tools {
namespace {

/** Axis `axis` of [batch, heads, tokens, dim], 1 where the array leaves it out. */
int64_t extent(const Array &array, int axis) {
    const int missing = 4 - static_cast<int>(array.shape.size());
    return axis < missing ? 1 : array.shape[static_cast<std::size_t>(axis - missing)];
}

void require_equal(const Array &array, const std::string &file, int axis, const char *what, int64_t expected, const std::string &as) {
    const int64_t value = extent(array, axis);
    if (value != expected)
        bad_argument("{} has shape {}: its {} is {}; it must be {}, as in {}", file, shape_text(array.shape), what, value, expected, as);
}

Array read_queries(const std::string &q, std::optional<attune_type> dtype) {
    if (!dtype) return read_npy(q, {ATTUNE_F32, ATTUNE_F16, ATTUNE_BF16});
    return read_npy(q, {*dtype});
}

} // namespace

Shape AttentionInputs::output_shape(Shape full) const {
    full.erase(full.begin(), full.begin() + (4 - rank()));
    return full;
}

AttentionInputs read_attention_inputs(const std::string &q, const std::string &k, const std::string &v, std::optional<attune_type> dtype) {
    Array queries = read_queries(q, dtype);
    const attune_type type = queries.type;
    AttentionInputs in{std::move(queries), read_npy(k, {type}), read_npy(v, {type}), 0, 0, 0, 0, 0, 0, 0};
    const std::size_t rank = in.q.shape.size();
    if (rank < 2 || rank > 4) bad_argument("{} has rank {}; it must be 2 to 4", q, rank);
    if (in.k.shape.size() != rank) bad_argument("{} has rank {}; it must be {}, as {} has", k, in.k.shape.size(), rank, q);
    if (in.v.shape.size() != rank) bad_argument("{} has rank {}; it must be {}, as {} has", v, in.v.shape.size(), rank, q);
    in.batch = extent(in.q, 0), in.query_heads = extent(in.q, 1), in.queries = extent(in.q, 2), in.head_dim = extent(in.q, 3);
    in.kv_heads = extent(in.k, 1), in.keys = extent(in.k, 2), in.value_dim = extent(in.v, 3);
    require_equal(in.k, k, 0, "batch", in.batch, q);
    require_equal(in.v, v, 0, "batch", in.batch, q);
    require_equal(in.v, v, 1, "number of heads", in.kv_heads, k);
    require_equal(in.k, k, 3, "width", in.head_dim, q);
    require_equal(in.v, v, 2, "number of keys", in.keys, k);
    if (in.head_dim < 1 || in.value_dim < 1)
        bad_argument("{} has shape {}; its last axis must be at least 1", in.head_dim < 1 ? q : v,
                     shape_text(in.head_dim < 1 ? in.q.shape : in.v.shape));
    if (in.kv_heads == 0 ? in.query_heads != 0 : in.query_heads % in.kv_heads != 0)
        bad_argument("{} has {} heads; it must be a multiple of the {} heads of {}", q, in.query_heads, in.kv_heads, k);
    return in;
}

Array read_array(const std::string &file, std::initializer_list<attune_type> types, int min_rank, int max_rank) {
    Array array = read_npy(file, types);
    const int rank = static_cast<int>(array.shape.size());
    if (rank < min_rank || rank > max_rank)
        bad_argument("{} has rank {}; it must be {}", file, rank,
                     min_rank == max_rank ? fmt::format("{}", min_rank) : fmt::format("{} to {}", min_rank, max_rank));
    return array;
}

Array read_broadcast(const std::string &file, attune_type type, const AttentionInputs &inputs) {
    Array array = read_npy(file, {type});
    if (array.shape.size() > 4) bad_argument("{} has rank {}; it must be at most 4", file, array.shape.size());
    const Shape full = {inputs.batch, inputs.query_heads, inputs.queries, inputs.keys};
    for (int axis = 0; axis < 4; ++axis) {
        const int64_t value = extent(array, axis), limit = full[static_cast<std::size_t>(axis)];
        if (value != limit && value != 1)
            bad_argument("{} has shape {}; aligned at the right, each axis must be 1 or that of [B, Hq, N, M] = {}", file,
                         shape_text(array.shape), shape_text(full));
    }
    return array;
}

Array read_per_batch(const std::string &file, const AttentionInputs &inputs) {
    Array array = read_npy(file, {ATTUNE_I32, ATTUNE_I64});
    const bool scalar = array.shape.empty() && inputs.batch == 1;
    if (!scalar && array.shape != Shape{inputs.batch})
        bad_argument("{} has shape {}; it must be [{}], one value for each batch item", file, shape_text(array.shape), inputs.batch);
    return array;
}

Array read_key_lengths(const std::string &file, const AttentionInputs &inputs) {
    Array lengths = read_per_batch(file, inputs);
    for (int64_t b = 0; b < inputs.batch; ++b) {
        const int64_t length = integer_at(lengths, b);
        if (length < 0 || length > inputs.keys) bad_argument("{}[{}] is {}; it must be 0 to M = {}", file, b, length, inputs.keys);
    }
    return lengths;
}

} // namespace attune::tools
