"""A Llama-style model of random weights as a GGUF file, version 3 (docs/gguf.md of the ggml project)."""
import itertools
import struct

import decoder_shape

ALIGNMENT = 32
UINT32, FLOAT32, STRING = 4, 6, 8  # enum gguf_type
TYPES = {"f32": 0, "f16": 1, "bf16": 30}  # enum ggml_type


def text(value):
    encoded = value.encode()
    return struct.pack("<Q", len(encoded)) + encoded


def entry(key, value):
    """A key and its value: a string, an unsigned integer or a float."""
    if isinstance(value, str):
        return text(key) + struct.pack("<I", STRING) + text(value)
    return text(key) + (struct.pack("<If", FLOAT32, value) if isinstance(value, float) else struct.pack("<II", UINT32, value))


def metadata(shape):
    return {"general.architecture": "llama", "general.alignment": ALIGNMENT, "tokenizer.ggml.model": "no_vocab",
            "llama.vocab_size": shape.vocabulary, "llama.context_length": 2 * decoder_shape.PROMPT, "llama.embedding_length": shape.width,
            "llama.block_count": shape.layers, "llama.feed_forward_length": shape.inner, "llama.attention.head_count": shape.heads,
            "llama.attention.head_count_kv": shape.kv_heads, "llama.attention.layer_norm_rms_epsilon": decoder_shape.EPSILON,
            "llama.rope.dimension_count": shape.head_dim, "llama.rope.freq_base": decoder_shape.ROTARY_BASE}


def padding(size):
    return -size % ALIGNMENT


def sizes(shape):
    """The extents of each tensor, fastest first, by name."""
    norms = [f"blk.{layer}.{name}.weight" for layer in range(shape.layers) for name in ("attn_norm", "ffn_norm")]
    found = {"token_embd.weight": (shape.width, shape.vocabulary), "output.weight": (shape.width, shape.vocabulary)}
    found |= {f"blk.{layer}.{name}.weight": (columns, rows) for layer in range(shape.layers) for name, (rows, columns) in shape.matrices.items()}
    return found | {name: (shape.width,) for name in [*norms, "output_norm.weight"]}


def header(shape, dtype):
    """All before the tensors' data, padded, and the offset of each tensor's data behind it, by name, in the order of their names there."""
    extents, offset, offsets, described, pairs = sizes(shape), 0, {}, b"", metadata(shape)
    for name, extent in extents.items():
        is_matrix = len(extent) == 2
        described += text(name) + struct.pack(f"<I{len(extent)}QIQ", len(extent), *extent, TYPES[dtype if is_matrix else "f32"], offset)
        offsets[name] = offset
        size = extent[0] * (2 * extent[1] if is_matrix else 4)
        offset += size + padding(size)
    begin = b"GGUF" + struct.pack("<IQQ", 3, len(extents), len(pairs)) + b"".join(entry(*pair) for pair in pairs.items()) + described
    return begin + bytes(padding(len(begin))), offsets


def write(path, shape, dtype):
    """Matrices as f16 or bf16, norms' weights as f32."""
    import ml_dtypes
    import numpy as np
    kind = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}[dtype]
    begin, offsets = header(shape, dtype)
    norms = ((name, np.ones(extent, np.float32)) for name, extent in sizes(shape).items() if len(extent) == 1)
    matrices = ((name, matrix.astype(kind)) for name, matrix in decoder_shape.random_weights(shape))
    with open(path, "wb") as file:
        file.write(begin)
        for name, array in itertools.chain(norms, matrices):
            file.seek(len(begin) + offsets[name])
            file.write(array.tobytes())
