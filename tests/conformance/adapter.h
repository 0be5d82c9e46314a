// ONNX operators as calls of attune.h. adapter.py has these structs once more, for ctypes.
#pragma once

#include <cstdint>

extern "C" {

/** A C-order array of one of attune_type's types. */
struct OnnxArray {
    void *data; // NULL: an input or output the node leaves out
    int32_t type;
    int32_t rank; // up to 4
    int64_t shape[4];
};

/** Attention of opset 23 to 25. Masks that aren't boolean and qk_matmul_output are f32, whatever the type of q. */
struct OnnxAttention {
    OnnxArray q, k, v, attn_mask, past_key, past_value, nonpad_kv_seqlen;
    OnnxArray y, present_key, present_value, qk_matmul_output; // both presents wherever there is a past
    int32_t is_causal, q_num_heads, kv_num_heads, qk_matmul_output_mode, left_window_size, right_window_size, has_scale;
    float scale, softcap;
};

struct OnnxRotaryEmbedding {
    OnnxArray x, cos_cache, sin_cache, position_ids, y;
    int32_t interleaved, rotary_embedding_dim, num_heads;
};

struct OnnxSoftmax {
    OnnxArray x, y;
    int32_t axis, log;
};

/** present_cache holds a copy of past_cache. */
struct OnnxTensorScatter {
    OnnxArray present_cache, update, write_indices;
    int32_t axis, circular;
};

/** Each runs one node and returns NULL, or the error's message until the thread's next call. */
const char *onnx_attention(const OnnxAttention *node);
const char *onnx_rotary_embedding(const OnnxRotaryEmbedding *node);
const char *onnx_softmax(const OnnxSoftmax *node);
const char *onnx_tensor_scatter(const OnnxTensorScatter *node);
}

#include "attune/attune.h"

namespace attune::conformance {

inline attune_tensor view(const OnnxArray &array) {
    return attune_contiguous(array.data, static_cast<attune_type>(array.type), array.rank, array.shape);
}

/** [batch, heads, tokens, dim], which is how rank 4 is stored; rank 3 is [batch, tokens, heads * dim]. */
inline attune_tensor view_heads(const OnnxArray &array, int64_t heads) {
    if (array.rank == 4) return view(array);
    const int64_t tokens = array.shape[1], dim = array.shape[2] / heads;
    const int64_t stored[] = {array.shape[0], tokens, heads, dim};
    attune_tensor tensor = attune_contiguous(array.data, static_cast<attune_type>(array.type), 4, stored);
    tensor.extent[1] = heads, tensor.extent[2] = tokens;
    tensor.stride[1] = dim, tensor.stride[2] = heads * dim;
    return tensor;
}

inline const char *message(attune_status status) { return status == ATTUNE_OK ? nullptr : attune_error_message(); }

} // namespace attune::conformance
