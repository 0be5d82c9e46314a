// Split-KV decoding on a GPU: how keys are cut into chunks, and the memory in which a kernel leaves the chunks' softmax states.
#pragma once

#include "runtime/src/attention/checks.h"
#include "runtime/src/attention/plan.h"
#include "runtime/src/kernel/halide_buffer.h"

namespace attune::runtime {

/** What the kernels' blocks of threads have (schedules/cuda/block_sizes.h, attention_simt.cpp): keys of a step at most, rows of a key/value
 * head, and the width of a value in kernels for any. */
inline constexpr int64_t keys_of_split_kv_step = 64, rows_of_split_kv_tile = 16, channels_of_split_kv_column = 8;
inline constexpr int64_t widest_split_kv_value = 256;

/** Whether a kernel of ATTUNE_CUDA splits keys: it then takes `keys_per_chunk` and `partial` beside the arguments of every other. */
bool splits_keys(const attune_kernel &kernel);

/** Depends on M alone, so that results depend on neither the batch nor how large the GPU is. */
int64_t keys_per_chunk(int64_t keys);

/** The axes of `partial`, in elements of f32 (see generators/cuda/attention_fragments.h and attention_simt.h). */
struct ChunkStateSize {
    ChunkStateSize(const attune_kernel &kernel, const AttentionShape &shape);

    bool of_words;   // the axis of channels is cut in three
    int64_t columns; // of 8 channels: those of a value as the kernel rounds it up, and one more
    int64_t rows;    // of a tile
    int64_t tiles;   // of a key/value head: for each tile of its rows one a chunk
    int64_t heads;   // key/value heads

    int64_t tile() const { return rows * columns * channels_of_split_kv_column; }
    int64_t item() const { return heads * tiles * tile(); }
    HalideBuffer buffer(void *data, int64_t items) const;
};

/** How many batch items are run at once, so that their states take a bounded amount of memory. The others follow, in the same memory: no
 * result depends on it. */
int64_t items_at_once(const ChunkStateSize &size, int64_t batch);

/** Batch items [first, first + count) of a run's arguments. */
class BatchItems {
public:
    BatchItems(const attune_attention_args &args, const attune_tensor &lse, const attune_tensor *document_ranges, int64_t first,
               int64_t count);
    BatchItems(const BatchItems &) = delete;
    BatchItems &operator=(const BatchItems &) = delete;

    const attune_attention_args &args() const { return args_; }
    const attune_tensor &lse() const { return lse_; }
    const attune_tensor *document_ranges() const { return document_ranges_; }

private:
    attune_attention_args args_;
    attune_tensor lse_, bias_ = {}, lengths_ = {}, offsets_ = {}, pages_ = {};
    attune_tensor boolean_mask_ = {}, documents_ = {}, query_documents_ = {}, own_ranges_ = {};
    const attune_tensor *document_ranges_; // nullptr: there are none
    attune_cache cache_ = {};
};

} // namespace attune::runtime
