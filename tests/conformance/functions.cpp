// ONNX's RotaryEmbedding, Softmax, LogSoftmax and TensorScatter: https://onnx.ai/onnx/operators/
#include <numeric>
#include <vector>

#include "adapter.h"

using namespace attune::conformance;

/** Without position_ids the caches have a row for each token of each batch item, in that order. */
const char *onnx_rotary_embedding(const OnnxRotaryEmbedding *node) {
    attune_rotary_args args;
    attune_rotary_args_init(&args);
    args.x = view_heads(node->x, node->num_heads), args.y = view_heads(node->y, node->num_heads);
    args.layout = node->interleaved ? ATTUNE_ROTARY_INTERLEAVED : ATTUNE_ROTARY_HALF;
    args.rotary_dim = node->rotary_embedding_dim;
    const int64_t tokens[] = {args.x.extent[0], args.x.extent[2]};
    std::vector<int64_t> each_token(static_cast<size_t>(tokens[0] * tokens[1]));
    std::iota(each_token.begin(), each_token.end(), 0);
    const bool given = node->position_ids.data != nullptr;
    const attune_tensor positions = given ? view(node->position_ids) : attune_contiguous(each_token.data(), ATTUNE_I64, 2, tokens);
    args.positions = &positions;
    const int64_t pairs = node->cos_cache.shape[node->cos_cache.rank - 1];
    const int64_t table[] = {given ? node->cos_cache.shape[0] : tokens[0] * tokens[1], pairs};
    const attune_tensor cosines = attune_contiguous(node->cos_cache.data, ATTUNE_F32, 2, table);
    const attune_tensor sines = attune_contiguous(node->sin_cache.data, ATTUNE_F32, 2, table);
    args.cosines = &cosines, args.sines = &sines;
    return message(attune_rotary(&args, nullptr));
}

const char *onnx_softmax(const OnnxSoftmax *node) {
    attune_softmax_args args;
    attune_softmax_args_init(&args);
    args.x = view(node->x), args.y = view(node->y);
    args.axis = node->axis, args.log = node->log;
    return message(attune_softmax(&args, nullptr));
}

const char *onnx_tensor_scatter(const OnnxTensorScatter *node) {
    attune_cache_write_args args;
    attune_cache_write_args_init(&args);
    args.cache = view(node->present_cache), args.update = view(node->update);
    args.axis = node->axis, args.circular = node->circular;
    const attune_tensor starts = view(node->write_indices);
    args.starts = node->write_indices.data ? &starts : nullptr;
    return message(attune_cache_write(&args, nullptr));
}
