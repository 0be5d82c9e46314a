#include "runtime/src/attention/tensors.h"

#include "runtime/src/attention/checks.h"

namespace attune::runtime {

NamedTensors outputs_beside_out(const attune_attention_args &args) {
    NamedTensors outputs = {{args.lse, "lse"}, {args.weights, "weights"}, {args.scores, "scores"}};
    if (!args.cache) return outputs;
    const attune_cache &cache = *args.cache;
    outputs.add({&cache.k, "cache.k"}), outputs.add({&cache.v, "cache.v"});
    outputs.add({cache.k_scale, "cache.k_scale"}), outputs.add({cache.v_scale, "cache.v_scale"});
    return outputs;
}

NamedTensors inputs_beside_rows(const attune_attention_args &args) {
    NamedTensors inputs = {{args.boolean_mask, "boolean_mask"},
                           {args.bias, "bias"},
                           {args.key_lengths, "key_lengths"},
                           {args.documents, "documents"},
                           {args.query_documents, "query_documents"},
                           {args.document_starts, "document_starts"},
                           {args.block_map, "block_map"},
                           {args.t5_table, "t5_table"},
                           {args.sinks, "sinks"},
                           {args.positions, "positions"},
                           {args.key_positions, "key_positions"},
                           {args.position_table, "position_table"},
                           {args.offsets, "offsets"}};
    if (args.cache) inputs.add({&args.cache->lengths, "cache.lengths"}), inputs.add({args.cache->block_table, "cache.block_table"});
    return inputs;
}

Status check_overlaps(const attune_attention_args &args, const attune_tensor *given_offsets) {
    const int64_t param_count = args.param_count;
    const attune_tensor params = attune_contiguous(const_cast<int32_t *>(args.params), ATTUNE_I32, 1, &param_count);
    NamedTensors outputs = {{&args.out, "out"}}, inputs = {{&args.q, "q"}, {&args.k, "k"}, {&args.v, "v"}, {&params, "params"}};
    outputs.add(outputs_beside_out(args)), inputs.add(inputs_beside_rows(args));
    if (given_offsets != args.offsets) inputs.add({given_offsets, "offsets"});
    return check_apart(outputs, inputs);
}

} // namespace attune::runtime
