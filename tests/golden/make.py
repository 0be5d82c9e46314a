#!/usr/bin/env python3
"""Writes the golden files: what PyTorch's own modules give, in float64, for weights and inputs that are a formula.

    pip install torch==2.9.1 numpy && python3 tests/golden/make.py

Each case is a folder of .npy files of float32. Its inputs aren't stored: golden.h makes the same numbers, bit for bit."""
import copy
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

FOLDER = pathlib.Path(__file__).resolve().parent
JOURNEY = [[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.1], [0.05, 0.8, 0.55]]
THREE = {"x": [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]],
         "query": [[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]],
         "key": [[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]],
         "value": [[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]]}  # y = x W


def numbers(seed, *shape, scale=1.0):
    """float32 in [-scale, scale), scale a power of two: Wellons' hash lowbias32 of the place and the seed, 24 bits of it."""
    x = (np.arange(np.prod(shape, dtype=np.int64), dtype=np.uint64) + np.uint64(seed * 1000003)).astype(np.uint32)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    return torch.from_numpy(((x.view(np.int32) >> 8) * (scale / 2**23)).reshape(shape)).double()


def save(case, **arrays):
    (FOLDER / case).mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(FOLDER / case / f"{name}.npy", array.detach().double().numpy().astype("<f4"))


def float32(rows):
    return torch.tensor(rows, dtype=torch.float32).double()


def linear(seed, out, inputs, bias, scale):
    """torch.nn.Linear with weight number `seed` and bias number `seed + 1`."""
    layer = torch.nn.Linear(inputs, out, bias=bias).double()
    layer.weight.data = numbers(seed, out, inputs, scale=scale)
    if bias:
        layer.bias.data = numbers(seed + 1, out, scale=0.25)
    return layer


def attend(q, k, v, mask=None, causal=False, scale=None):
    """Result and weights of scaled_dot_product_attention: with the identity as values it gives its weights."""
    mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril() if causal else mask
    identity = torch.eye(k.shape[-2], dtype=torch.float64).expand(*k.shape[:-1], k.shape[-2])
    give = lambda values: F.scaled_dot_product_attention(q, k, values, attn_mask=mask, scale=scale)
    return give(v), give(identity)


def split(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(-3, -2)


def merge(x):
    return x.transpose(-3, -2).flatten(-2)


def multi_head(case, x, d_in, d_out, heads=1, bias=False, output=True, causal=False, scale=1.0, output_bias=True):
    """Linear projections, seeds 1, 3, 5 and 7, around scaled_dot_product_attention."""
    q, k, v = (split(linear(seed, d_out, d_in, bias, scale)(x), heads) for seed in (1, 3, 5))
    out, weights = attend(q, k, v, causal=causal)
    out = merge(out)
    save(case, out=linear(7, d_out, d_out, output_bias, scale)(out) if output else out, weights=weights)


def worked_examples():
    x, q, k, v = (float32(THREE[name]) for name in ("x", "query", "key", "value"))
    for case, scale in (("three_tokens_unscaled", 1.0), ("three_tokens_scaled", None)):
        out, weights = attend((x @ q)[None], (x @ k)[None], (x @ v)[None], scale=scale)
        save(case, out=out, weights=weights[None])
    inputs = float32(JOURNEY)
    multi_head("journey_projected", inputs[None], 3, 2, output=False)
    multi_head("journey_projected_bias", inputs[None], 3, 2, bias=True, output=False)
    batch = torch.stack([inputs, inputs.flip(0)])
    multi_head("journey_causal", batch, 3, 1024, causal=True, output=False)
    multi_head("journey_causal_short", batch[:, :4], 3, 1024, causal=True, output=False)
    for heads in (2, 4):
        multi_head(f"heads_{heads}", numbers(100, 2, 5, 16), 16, 32, heads, output=True, scale=0.5)
    zeros = torch.zeros(1, 3, 2, dtype=torch.float64)
    out, weights = attend(zeros, zeros, float32([[[1, 2], [4, 5], [7, 8]]]), causal=True)
    save("uniform_causal", out=out, weights=weights[None])


def mask_of(seed, *shape):
    """About two in three are true, and so is one of every row."""
    mask = numbers(seed, *shape) > -1 / 3
    mask[..., 0] = True
    return mask


def textbook():
    out, weights = attend(numbers(101, 1, 1, 4, 8), numbers(102, 1, 1, 7, 8), numbers(103, 1, 1, 7, 5), mask_of(104, 4, 7))
    save("dot_product", out=out[0], weights=weights)
    multi_head("width_512", numbers(105, 2, 10, 512), 512, 512, 8, bias=True, scale=0.0625)
    multi_head("single_head", numbers(106, 1, 4, 6), 6, 6, 1, bias=True)
    multi_head("two_heads", numbers(107, 1, 5, 4), 4, 4, 2, bias=True)


def set_attention(layer, seed, scale=0.5):
    """torch.nn.MultiheadAttention: weights number seed, + 2, + 4 and + 6, biases one more each."""
    width = layer.embed_dim
    keys, values = layer.kdim, layer.vdim
    q, k, v = (numbers(seed + 2 * i, width, d, scale=scale) for i, d in enumerate((width, keys, values)))
    if layer.in_proj_weight is None:
        layer.q_proj_weight.data, layer.k_proj_weight.data, layer.v_proj_weight.data = q, k, v
    else:
        layer.in_proj_weight.data = torch.cat([q, k, v])
    layer.in_proj_bias.data = torch.cat([numbers(seed + 2 * i + 1, width, scale=0.25) for i in range(3)])
    layer.out_proj.weight.data, layer.out_proj.bias.data = numbers(seed + 6, width, width, scale=scale), numbers(seed + 7, width, scale=0.25)
    return layer


def padding(lengths, keys):
    return torch.arange(keys) >= torch.tensor(lengths)[:, None]  # true masks, as PyTorch's


def modules():
    layer = set_attention(torch.nn.MultiheadAttention(32, 4, kdim=24, vdim=20, batch_first=True).double().eval(), 1)
    query, key, value = numbers(110, 2, 6, 32), numbers(111, 2, 9, 24), numbers(112, 2, 9, 20)
    out, weights = layer(query, key, value, key_padding_mask=padding([9, 5], 9), attn_mask=~mask_of(113, 6, 9),
                         average_attn_weights=False)
    save("cross", out=out, weights=weights)
    layer = set_attention(torch.nn.MultiheadAttention(32, 4, batch_first=True).double().eval(), 1)
    out, weights = layer(query, query, query, average_attn_weights=False)
    save("self", out=out, weights=weights)
    q = split(linear(1, 32, 32, True, 0.5)(query), 8)
    k, v = (split(linear(seed, 8, 32, True, 0.5)(query), 2) for seed in (3, 5))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    save("grouped", out=linear(7, 32, 32, True, 0.5)(merge(out)))


def norm(layer, seed):
    """torch.nn.LayerNorm: weight 1 + number seed, bias number seed + 1."""
    layer.weight.data = (numbers(seed, layer.normalized_shape[0], scale=0.25).float() + 1).double()
    layer.bias.data = numbers(seed + 1, layer.normalized_shape[0], scale=0.25)


def feed_forward(layer, seed):
    """Of an encoder or decoder layer: up, seeds seed and seed + 1, and down, the next two."""
    for linear, s in ((layer.linear1, seed), (layer.linear2, seed + 2)):
        linear.weight.data, linear.bias.data = numbers(s, *linear.weight.shape, scale=0.25), numbers(s + 1, len(linear.bias), scale=0.25)


WIDTH = dict(d_model=16, nhead=4, dim_feedforward=40, dropout=0.0, batch_first=True)


def encoder_layer(layer, seed):
    set_attention(layer.self_attn, seed)
    feed_forward(layer, seed + 8)
    norm(layer.norm1, seed + 12)
    norm(layer.norm2, seed + 14)
    return layer


def decoder_layer(layer, seed):
    set_attention(layer.self_attn, seed)
    set_attention(layer.multihead_attn, seed + 8)
    feed_forward(layer, seed + 16)
    for i, each in enumerate((layer.norm1, layer.norm2, layer.norm3)):
        norm(each, seed + 20 + 2 * i)
    return layer


def causal(tokens):
    return ~torch.ones(tokens, tokens, dtype=torch.bool).tril()  # true masks


def blocks():
    """Encoder and decoder layers, post-norm with ReLU and pre-norm with GELU; one item of the batch is padded. Also what PyTorch gives in
    bfloat16: how far it strays is what other layers in bfloat16 are measured by."""
    x, y, pad = numbers(120, 2, 6, 16), numbers(121, 2, 5, 16), padding([6, 4], 6)
    for name, first, activation in (("post", False, "relu"), ("pre", True, "gelu")):
        layer = encoder_layer(torch.nn.TransformerEncoderLayer(**WIDTH, activation=activation, norm_first=first).double().eval(), 1)
        half = copy.deepcopy(layer).bfloat16()
        save(f"encoder_{name}", out=layer(x, src_key_padding_mask=pad), bfloat16=half(x.bfloat16(), src_key_padding_mask=pad))
        layer = decoder_layer(torch.nn.TransformerDecoderLayer(**WIDTH, activation=activation, norm_first=first).double().eval(), 1)
        half, masks = copy.deepcopy(layer).bfloat16(), {"tgt_mask": causal(5), "memory_key_padding_mask": pad}
        save(f"decoder_{name}", out=layer(y, x, **masks), bfloat16=half(y.bfloat16(), x.bfloat16(), **masks))


def sinusoidal(tokens, width):
    angle = torch.arange(tokens).double()[:, None] * 10000 ** (-torch.arange(0, width, 2).double() / width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)


def encoder_decoder():
    """torch.nn.Transformer of two and two layers: sinusoidal positions for the source, learned ones, number 122, for the target."""
    model = torch.nn.Transformer(**WIDTH, num_encoder_layers=2, num_decoder_layers=2).double().eval()
    for i in range(2):
        encoder_layer(model.encoder.layers[i], 1 + 30 * i)
        decoder_layer(model.decoder.layers[i], 61 + 30 * i)
    norm(model.encoder.norm, 126)
    norm(model.decoder.norm, 128)
    x, y, pad = numbers(120, 2, 6, 16) + sinusoidal(6, 16), numbers(121, 2, 5, 16) + numbers(122, 9, 16)[:5], padding([6, 4], 6)
    save("encoder_decoder", out=model(x, y, tgt_mask=causal(5), src_key_padding_mask=pad, memory_key_padding_mask=pad))


def rotary(x, base=10000.0):
    """Half-split pairs, as GPT-NeoX's."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[-2]).double()[:, None] * base ** (-torch.arange(half).double() / half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)


def rotary_block():
    """A causal pre-norm encoder layer whose queries and keys are turned: its own parts, in its own order."""
    layer = encoder_layer(torch.nn.TransformerEncoderLayer(**WIDTH, activation="gelu", norm_first=True).double().eval(), 1)
    x, attention = numbers(120, 2, 6, 16), layer.self_attn
    q, k, v = (split(part, 4) for part in F.linear(layer.norm1(x), attention.in_proj_weight, attention.in_proj_bias).chunk(3, -1))
    x = x + attention.out_proj(merge(attend(rotary(q), rotary(k), v, causal=True)[0]))
    save("encoder_rotary", out=x + layer.linear2(F.gelu(layer.linear1(layer.norm2(x)))))


def main():
    torch.backends.mha.set_fastpath_enabled(False)
    with torch.no_grad():
        worked_examples()
        textbook()
        modules()
        blocks()
        encoder_decoder()
        rotary_block()


if __name__ == "__main__":
    main()
