#include "runtime/src/cuda/split.h"

#include <algorithm>
#include <cstring>

#include "runtime/src/divided_up.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

// A chunk has some steps, and so many keys at least that what it leaves in memory is little beside what it reads. More chunks than this
// would only make the merge longer: with them one head keeps a GPU busy.
constexpr int64_t least_keys = 128, most_chunks = 128;
constexpr int64_t most_floats = int64_t{1} << 24; // of the states that are held at once: 64 MiB

attune_tensor items_of(const attune_tensor &tensor, int64_t first, int64_t count) {
    return tensor.extent[0] == 1 ? tensor : slice(tensor, 0, first, count); // one is of all items
}

} // namespace

bool splits_keys(const attune_kernel &kernel) { return std::strcmp(kernel.schedule, split_schedule) == 0; }

int64_t keys_per_chunk(int64_t keys) {
    return std::max(least_keys, divided_up(divided_up(keys, most_chunks), keys_of_split_kv_step) * keys_of_split_kv_step);
}

ChunkStateSize::ChunkStateSize(const attune_kernel &kernel, const AttentionShape &s)
    : of_words(kernel.word_channels != 0),
      columns((kernel.value_dim > 0 ? kernel.value_dim : widest_split_kv_value) / channels_of_split_kv_column + 1), heads(s.kv_heads) {
    const int64_t all_rows = s.queries * (s.heads / s.kv_heads);
    rows = std::min(all_rows, rows_of_split_kv_tile);
    tiles = divided_up(all_rows, rows_of_split_kv_tile) * divided_up(s.keys, keys_per_chunk(s.keys));
}

HalideBuffer ChunkStateSize::buffer(void *data, int64_t items) const {
    const int64_t row = columns * channels_of_split_kv_column;
    if (!of_words)
        return {data, ATTUNE_F32, {{items, item()}, {heads, tiles * tile()}, {tiles, tile()}, {rows, row}, {row, 1}}, ATTUNE_CUDA};
    return {
        data,
        ATTUNE_F32,
        {{items, item()}, {heads, tiles * tile()}, {tiles, tile()}, {rows, row}, {columns, channels_of_split_kv_column}, {4, 2}, {2, 1}},
        ATTUNE_CUDA};
}

int64_t items_at_once(const ChunkStateSize &size, int64_t batch) { return std::clamp<int64_t>(most_floats / size.item(), 1, batch); }

BatchItems::BatchItems(const attune_attention_args &args, const attune_tensor &lse, const attune_tensor *document_ranges, int64_t first,
                       int64_t count)
    : args_(args), lse_(items_of(lse, first, count)), document_ranges_(document_ranges) {
    const bool paged = args.cache && args.cache->block_table; // k and v are then of all items
    for (attune_tensor *tensor : {&args_.q, &args_.out})
        *tensor = items_of(*tensor, first, count);
    for (attune_tensor *tensor : {&args_.k, &args_.v})
        if (!paged) *tensor = items_of(*tensor, first, count);
    const auto take = [&](const attune_tensor *&given, attune_tensor &own) {
        if (given) own = items_of(*given, first, count), given = &own;
    };
    take(args_.bias, bias_), take(args_.key_lengths, lengths_), take(args_.offsets, offsets_);
    take(args_.boolean_mask, boolean_mask_), take(args_.documents, documents_), take(args_.query_documents, query_documents_);
    take(document_ranges_, own_ranges_);
    if (paged) cache_ = *args.cache, args_.cache = &cache_, take(cache_.block_table, pages_);
}

} // namespace attune::runtime
