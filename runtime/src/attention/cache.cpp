#include "runtime/src/attention/cache.h"

#include <algorithm>

#include "runtime/src/attention/checks.h"
#include "runtime/src/mask/interval_table.h"
#include "runtime/src/tensor/integers.h"

namespace attune::runtime {

namespace {

/** The first token of the two rounds of a ring that hold an item's last `capacity` of `tokens` tokens; 0 for what is no ring. */
int64_t first_token(const attune_cache &cache, int64_t tokens) {
    const int64_t capacity = cache_capacity(cache);
    return cache.ring && tokens > capacity ? (tokens - capacity) / capacity * capacity : 0;
}

/** The difference, as near to it as 64 bits come: the sum of an offset with any key's position isn't past them then either. */
int64_t subtract(int64_t a, int64_t b) {
    int64_t difference = 0;
    return __builtin_sub_overflow(a, b, &difference) ? INT64_MIN : difference;
}

attune_tensor per_item(int64_t *numbers, int64_t batch) { return attune_contiguous(numbers, ATTUNE_I64, 1, &batch); }

bool all_equal(const int64_t *numbers, int64_t count) { return std::equal(numbers + (count > 0), numbers + count, numbers); }

} // namespace

int64_t cache_capacity(const attune_cache &cache) { return cache.k.extent[2] * (cache.block_table ? cache.block_table->extent[1] : 1); }

int64_t cache_keys(const attune_cache &cache) { return cache_capacity(cache) * (cache.ring ? 2 : 1); }

Status RunCache::fill(const attune_attention_args &args, const AttentionShape &s) {
    args_ = args, given_offsets_ = args.offsets;
    if (!args.cache) return {};
    const auto count = static_cast<size_t>(s.batch);
    if (!lengths_.allocate(count) || !offsets_.allocate(count) || !shifted_.allocate(count))
        return out_of_memory("the numbers of a cache", int64_t{3} * 8 * s.batch);
    return fill_numbers(s);
}

Status RunCache::fill_numbers(const AttentionShape &s) {
    const attune_attention_args &given = args_;
    const attune_cache &cache = *given.cache;
    offset_given_ = given.offsets || given.has_offset;
    int64_t *lengths = lengths_.data(), *offsets = offsets_.data(), *shifted = shifted_.data();
    for (int64_t b = 0; b < s.batch; ++b) {
        const int64_t tokens = read_integer(cache.lengths, b) + s.new_keys, first = first_token(cache, tokens);
        lengths[b] = tokens - first;
        offsets[b] = given.offsets ? read_integer(*given.offsets, b) : given.has_offset ? given.offset : tokens - s.queries;
        shifted[b] = subtract(offsets[b], first);
    }
    lengths_tensor_ = per_item(lengths, s.batch), offsets_tensor_ = per_item(offsets, s.batch);
    shifted_tensor_ = per_item(shifted, s.batch);
    uniform_ = all_equal(lengths, s.batch) && all_equal(offsets, s.batch) && all_equal(shifted, s.batch);
    if (s.batch > 0) offset_ = offsets[0], start_ = read_integer(cache.lengths, 0);
    args_.key_lengths = &lengths_tensor_;
    args_.offsets = uniform_ ? nullptr : &shifted_tensor_;
    args_.has_offset = uniform_, args_.offset = uniform_ && s.batch > 0 ? shifted[0] : 0;
    return {};
}

Status RunCache::check_ring(const MaskProgram &program, const AttentionShape &s, Call &call) const {
    if (!args_.cache || !args_.cache->ring) return {};
    const int64_t capacity = cache_capacity(*args_.cache);
    for (int64_t b = 0; b < (uniform_ ? std::min<int64_t>(s.batch, 1) : s.batch); ++b) {
        // By positions in the whole sequence: among a kernel's keys none stands for a token before first(b).
        const int64_t tokens = read_integer(args_.cache->lengths, b) + s.new_keys, left = tokens - capacity;
        if (left <= 0) continue; // nothing has been overwritten yet
        MaskInput input = {1, 1, s.queries, tokens};
        input.offset = offsets_.data()[b], input.params = args_.params;
        FirstKey first = {};
        ATTUNE_TRY(find_first_key(program, input, call, first));
        ATTUNE_REQUIRE(
            first.key >= left,
            "query {} of batch item {} attends to token {}; the ring of {} tokens has {} to {} left; for these {} queries and {} "
            "new tokens it must be one of {} tokens or more",
            first.row, b, first.key, capacity, left, tokens - 1, s.queries, s.new_keys, tokens - first.key);
    }
    return {};
}

} // namespace attune::runtime
