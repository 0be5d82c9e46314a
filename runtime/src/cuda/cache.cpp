#include "runtime/src/cuda/cache.h"

#include "runtime/src/cuda/limits.h"
#include "runtime/src/kernel/function_kernel.h"
#include "runtime/src/kernel/halide_buffer.h"
#include "runtime/src/kernel/registry.h"
#include "runtime/src/tensor/tensor_views.h"

namespace attune::runtime {

namespace {

/** Kernels are made for the bits alone. */
attune_type type_of_bits(attune_type type) { return attune_type_size(type) == 2 ? ATTUNE_F16 : ATTUNE_F32; }

HalideBuffer bits_of(const attune_tensor &t) {
    attune_tensor bits = t;
    bits.type = type_of_bits(t.type);
    return HalideBuffer(bits, {t.extent[0], t.extent[1], t.extent[2], t.extent[3]});
}

} // namespace

Status DeviceWrite::check(const char *cache_name, const char *update_name) const {
    ATTUNE_TRY(check_span(cache, cache_name));
    ATTUNE_TRY(check_span(update, update_name));
    for (int32_t axis : {0, 1})
        ATTUNE_REQUIRE(update.extent[axis] <= most_blocks, "{}.extent[{}] is {}; on device cuda it must be at most {}", update_name, axis,
                       update.extent[axis], most_blocks);
    return {};
}

Status find_write_kernel(attune_type type, Call &call, const attune_kernel *&kernel) {
    return find_function_kernel("cache_write", nullptr, ATTUNE_CUDA, call, kernel, type_of_bits(type));
}

Status write_on_device(const attune_kernel &kernel, const DeviceWrite &w, Call &call) {
    if (!has_elements(w.update)) return {};
    const attune_tensor first = or_stand_in_on_device(w.starts, w.update, ATTUNE_I32, 1),
                        table = or_stand_in_on_device(w.pages, w.update, ATTUNE_I32, 2);
    HalideBuffer cache = bits_of(w.cache), update = bits_of(w.update), starts(first, {first.extent[0]});
    HalideBuffer pages(table, {table.extent[0], table.extent[1]});
    int32_t use_starts = w.starts != nullptr, use_pages = w.pages != nullptr, circular = w.circular;
    auto size = static_cast<int32_t>(w.cache.extent[2]), count = static_cast<int32_t>(w.cache.extent[0]);
    void *arguments[] = {nullptr, update.get(), starts.get(), pages.get(), &use_starts, &use_pages, &circular, &size, &count, cache.get()};
    return run_kernel(kernel, arguments, call);
}

attune_attention_args attended(const attune_attention_args &args) {
    attune_attention_args seen = args;
    if (args.cache) seen.k = args.cache->k, seen.v = args.cache->v;
    return seen;
}

Status DeviceCache::fill(const attune_attention_args &args, const AttentionShape &shape) {
    args_ = attended(args), shape_ = shape;
    if (!args.cache || shape.batch == 0) return {};
    new_k_ = args.k, new_v_ = args.v;
    ATTUNE_TRY(find_write_kernel(args.cache->k.type, call_, write_kernel_));
    ATTUNE_TRY(find_function_kernel("cache_counts", nullptr, ATTUNE_CUDA, call_, count_kernel_));
    ATTUNE_TRY(scratch_.allocate("the counts of a cache", shape.batch * 2 * 4));
    lengths_ = contiguous_on_device(scratch_.data(), ATTUNE_I32, 1, &shape.batch);
    offsets_ = lengths_;
    offsets_.data = element_at(lengths_, shape.batch);
    args_.key_lengths = &lengths_;
    if (!args.offsets && !args.has_offset) args_.offsets = &offsets_;
    return {};
}

Status DeviceCache::count() const {
    const int64_t extents[2] = {2, shape_.batch};
    const attune_tensor both = contiguous_on_device(lengths_.data, ATTUNE_I32, 2, extents);
    const attune_tensor &before = args_.cache->lengths;
    HalideBuffer lengths(before, {before.extent[0]}), counts(both, 2);
    auto new_tokens = static_cast<int32_t>(shape_.new_keys), queries = static_cast<int32_t>(shape_.queries);
    auto capacity = static_cast<int32_t>(shape_.keys);
    void *arguments[] = {nullptr, lengths.get(), &new_tokens, &queries, &capacity, counts.get()};
    return run_kernel(*count_kernel_, arguments, call_);
}

Status DeviceCache::append() const {
    if (!args_.cache || shape_.batch == 0) return {};
    const attune_cache &cache = *args_.cache;
    ATTUNE_TRY(write_on_device(*write_kernel_, {cache.k, new_k_, &cache.lengths, cache.block_table}, call_));
    ATTUNE_TRY(write_on_device(*write_kernel_, {cache.v, new_v_, &cache.lengths, cache.block_table}, call_));
    return count();
}

} // namespace attune::runtime
