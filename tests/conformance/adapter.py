"""ONNX operators on NumPy arrays, run by the shared library that adapter.h declares.

Each function takes the node's inputs in order, its attributes by name and the set of the places of the outputs that are wanted. It returns
the outputs, in order, None where one wasn't. What an operator has and a function doesn't know is a TypeError."""
import ctypes

import numpy as np

TYPES = {"float32": 1, "float16": 2, "bfloat16": 3, "int32": 4, "int64": 5, "bool": 6}  # attune_type
LIBRARY = None


class OnnxArray(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 4)]


def fields(arrays, integers, floats=""):
    """The fields of a struct of adapter.h, by their names."""
    kinds = [(arrays, OnnxArray), (integers, ctypes.c_int32), (floats, ctypes.c_float)]
    return [(name, kind) for names, kind in kinds for name in names.split()]


class OnnxAttention(ctypes.Structure):
    _fields_ = fields(
        "q k v attn_mask past_key past_value nonpad_kv_seqlen y present_key present_value qk_matmul_output",
        "is_causal q_num_heads kv_num_heads qk_matmul_output_mode left_window_size right_window_size has_scale",
        "scale softcap")


class OnnxRotaryEmbedding(ctypes.Structure):
    _fields_ = fields("x cos_cache sin_cache position_ids y", "interleaved rotary_embedding_dim num_heads")


class OnnxSoftmax(ctypes.Structure):
    _fields_ = fields("x y", "axis log")


class OnnxTensorScatter(ctypes.Structure):
    _fields_ = fields("present_cache update write_indices", "axis circular")


def load(path):
    global LIBRARY
    LIBRARY = ctypes.CDLL(path)
    for name in ("onnx_attention", "onnx_rotary_embedding", "onnx_softmax", "onnx_tensor_scatter"):
        getattr(LIBRARY, name).restype = ctypes.c_char_p


def describe(value):
    """An array as the library takes it; numbers as they are."""
    if not isinstance(value, np.ndarray):
        return OnnxArray() if value is None else value
    assert value.flags.c_contiguous and value.ndim <= 4, "the adapter takes C-order arrays of rank 4 or less"
    return OnnxArray(value.ctypes.data, TYPES[value.dtype.name], value.ndim, (ctypes.c_int64 * 4)(*value.shape))


def run(function, node, **values):
    error = getattr(LIBRARY, function)(ctypes.byref(node(**{name: describe(value) for name, value in values.items()})))
    if error is not None:
        raise RuntimeError(f"{function}: {error.decode()}")


def blank(shape, dtype):
    """Where results go: bytes that no result is made of."""
    array = np.empty(shape, dtype)
    array.view(np.uint8)[...] = 0xFF
    return array


def heads_and_tokens(array, heads):
    """Of [batch, heads, tokens, dim], or of [batch, tokens, heads * dim]."""
    return (array.shape[1], array.shape[2]) if array.ndim == 4 else (heads, array.shape[1])


def appended(past, tokens, heads):
    """Room for the past and the tokens: [batch, heads, tokens, dim]."""
    heads, count = heads_and_tokens(tokens, heads)
    dim = tokens.shape[-1] if tokens.ndim == 4 else tokens.shape[-1] // heads
    return blank((tokens.shape[0], heads, count + (past.shape[2] if past is not None else 0), dim), tokens.dtype)


def attention(q, k, v, attn_mask=None, past_key=None, past_value=None, nonpad_kv_seqlen=None, *, wanted, scale=None, softcap=0.0,
              q_num_heads=0, kv_num_heads=0, left_window_size=-1, right_window_size=-1, softmax_precision=1, **flags):
    """softmax_precision says how precise the softmax is at least; it is f32 always, and the suite's f64 is within its tolerance."""
    heads, queries = heads_and_tokens(q, q_num_heads)
    kv_heads, keys = heads_and_tokens(k, kv_num_heads)
    keep = past_key is not None or bool(wanted & {1, 2})
    present_key = appended(past_key, k, kv_num_heads) if keep else None
    present_value = appended(past_value, v, kv_num_heads) if keep else None
    keys += past_key.shape[2] if past_key is not None else 0
    value_dim = v.shape[-1] if v.ndim == 4 else v.shape[-1] // kv_heads
    y = blank((*q.shape[:-1], value_dim if q.ndim == 4 else heads * value_dim), q.dtype)
    scores = blank((q.shape[0], heads, queries, keys), np.float32) if 3 in wanted else None
    if attn_mask is not None and attn_mask.dtype != np.bool_:
        attn_mask = attn_mask.astype(np.float32)
    run("onnx_attention", OnnxAttention, q=q, k=k, v=v, attn_mask=attn_mask, past_key=past_key, past_value=past_value,
        nonpad_kv_seqlen=nonpad_kv_seqlen, y=y, present_key=present_key, present_value=present_value, qk_matmul_output=scores,
        q_num_heads=q_num_heads, kv_num_heads=kv_num_heads, left_window_size=left_window_size, right_window_size=right_window_size,
        has_scale=scale is not None, scale=scale or 0.0, softcap=softcap, **flags)
    return y, present_key, present_value, scores if scores is None else scores.astype(q.dtype)


def rotary_embedding(x, cos_cache, sin_cache, position_ids=None, *, wanted, **numbers):
    y = blank(x.shape, x.dtype)
    run("onnx_rotary_embedding", OnnxRotaryEmbedding, x=x, cos_cache=cos_cache, sin_cache=sin_cache, position_ids=position_ids, y=y,
        **numbers)
    return (y,)


def softmax(x, *, wanted, axis=-1, log=False):
    y = blank(x.shape, x.dtype)
    run("onnx_softmax", OnnxSoftmax, x=x, y=y, axis=axis, log=log)
    return (y,)


def log_softmax(x, **options):
    return softmax(x, log=True, **options)


def tensor_scatter(past_cache, update, write_indices=None, *, wanted, axis=-2, mode=b"linear"):
    present_cache = past_cache.copy()
    circular = {b"linear": False, b"circular": True}[mode]
    run("onnx_tensor_scatter", OnnxTensorScatter, present_cache=present_cache, update=update, write_indices=write_indices, axis=axis,
        circular=circular)
    return (present_cache,)


OPERATORS = {
    "Attention": attention,
    "LogSoftmax": log_softmax,
    "RotaryEmbedding": rotary_embedding,
    "Softmax": softmax,
    "TensorScatter": tensor_scatter,
}
