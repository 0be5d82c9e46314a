#include "attention_checks.h"
#include "overlap.h"

namespace attune::runtime {

namespace {

struct Named {
    const attune_tensor *tensor;
    const char *name;
};

Status check_apart(const Named &output, const Named &other) {
    if (!output.tensor || !other.tensor || !may_overlap(*output.tensor, *other.tensor)) return {};
    return fail(ATTUNE_INVALID_ARGUMENT, "{} overlaps {} in memory; an output must be apart from inputs and other outputs", output.name,
                other.name);
}

} // namespace

Status check_overlaps(const attune_attention_args &args) {
    const int64_t param_count = args.param_count;
    const attune_tensor params = attune_contiguous(const_cast<int32_t *>(args.params), ATTUNE_I32, 1, &param_count);
    const attune_cache none = {}, &cache = args.cache ? *args.cache : none;
    const auto if_cached = [&](const attune_tensor *tensor) { return args.cache ? tensor : nullptr; };
    const Named outputs[] = {{&args.out, "out"},
                             {args.lse, "lse"},
                             {args.weights, "weights"},
                             {args.scores, "scores"},
                             {if_cached(&cache.k), "cache.k"},
                             {if_cached(&cache.v), "cache.v"},
                             {cache.k_scale, "cache.k_scale"},
                             {cache.v_scale, "cache.v_scale"}};
    const Named inputs[] = {{&args.q, "q"},
                            {&args.k, "k"},
                            {&args.v, "v"},
                            {args.boolean_mask, "boolean_mask"},
                            {args.bias, "bias"},
                            {args.key_lengths, "key_lengths"},
                            {if_cached(&cache.lengths), "cache.lengths"},
                            {cache.block_table, "cache.block_table"},
                            {args.documents, "documents"},
                            {args.query_documents, "query_documents"},
                            {args.document_starts, "document_starts"},
                            {args.block_map, "block_map"},
                            {args.t5_table, "t5_table"},
                            {args.sinks, "sinks"},
                            {args.positions, "positions"},
                            {args.key_positions, "key_positions"},
                            {args.position_table, "position_table"},
                            {args.offsets, "offsets"},
                            {&params, "params"}};
    for (const Named &output : outputs) {
        for (const Named &input : inputs)
            ATTUNE_TRY(check_apart(output, input));
        for (const Named *other = outputs; other != &output; ++other)
            ATTUNE_TRY(check_apart(output, *other));
    }
    return {};
}

} // namespace attune::runtime
