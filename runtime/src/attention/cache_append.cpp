#include "runtime/src/attention/cache_append.h"

#include "runtime/src/cache/quantise.h"
#include "runtime/src/cache/token_copy.h"
#include "runtime/src/tensor/tensor.h"

namespace attune::runtime {

namespace {

constexpr int32_t token_axis = 2; // of [pages or batch, heads, tokens, dim]

int64_t element_of(const attune_tensor &t, int64_t outer, int64_t head, int64_t token) {
    return outer * effective_stride(t, 0) + head * effective_stride(t, 1) + token * effective_stride(t, token_axis);
}

/** One side of the cache: keys or values. */
struct Side {
    const attune_tensor &to;
    const attune_tensor *scale; // nullptr: rows are copied
    const attune_tensor &from;
};

void quantise_run(const Side &side, int64_t b, const PageRun &run) {
    const auto size = static_cast<int64_t>(attune_type_size(side.from.type));
    for (int64_t h = 0; h < side.from.extent[1]; ++h)
        for (int64_t t = 0; t < run.count; ++t) {
            const char *row = static_cast<const char *>(side.from.data) + element_of(side.from, b, h, run.token + t) * size;
            auto *to = static_cast<int8_t *>(side.to.data) + element_of(side.to, run.page, h, run.place + t);
            auto *scale = static_cast<float *>(side.scale->data) + element_of(*side.scale, run.page, h, run.place + t);
            *scale = quantise_row(row, side.from.type, side.from.extent[3], to);
        }
}

void write_run(const Side &side, int64_t b, const PageRun &run) {
    if (side.scale) return quantise_run(side, b, run);
    copy_tokens(side.to, {run.page, run.place}, side.from, {b, run.token}, run.count, token_axis);
}

} // namespace

void append(const attune_cache &cache, const attune_tensor &k, const attune_tensor &v) {
    if (!has_elements(k)) return;
    for (int64_t b = 0; b < k.extent[0]; ++b)
        for_each_run(cache, b, k.extent[token_axis], [&](const PageRun &run) {
            write_run({cache.k, cache.k_scale, k}, b, run);
            write_run({cache.v, cache.v_scale, v}, b, run);
        });
}

} // namespace attune::runtime
