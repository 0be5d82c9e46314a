"""The decoder of gpt_bench in PyTorch, eager, bf16: plain modules, and keys and values written into a cache in place."""
import torch
from torch import nn
from torch.nn import functional

import decoder_shape


def rotated(x, cos, sin):
    """x, [1, heads, T, D], turned: the first half of the channels with the second."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape, kv_rows = shape, shape.kv_heads * shape.head_dim
        self.q, self.k, self.v = (nn.Linear(shape.width, rows, bias=False) for rows in (shape.width, kv_rows, kv_rows))
        self.output = nn.Linear(shape.width, shape.width, bias=False)

    def make_cache(self):
        cache = torch.zeros(2, 1, self.shape.kv_heads, 2 * decoder_shape.PROMPT, self.shape.head_dim, dtype=torch.bfloat16)
        self.keys, self.values = cache

    def forward(self, x, begin, cos, sin):
        tokens = x.shape[1]
        end = begin + tokens
        heads = lambda y: y.view(1, tokens, -1, self.shape.head_dim).transpose(1, 2)
        self.keys[:, :, begin:end] = rotated(heads(self.k(x)), cos, sin)
        self.values[:, :, begin:end] = heads(self.v(x))
        attended = functional.scaled_dot_product_attention(
            rotated(heads(self.q(x)), cos, sin), self.keys[:, :, :end], self.values[:, :, :end], is_causal=tokens > 1,
            enable_gqa=self.shape.heads != self.shape.kv_heads)
        return self.output(attended.transpose(1, 2).reshape(1, tokens, -1))


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.before_attention, self.before_mlp = (nn.RMSNorm(shape.width, decoder_shape.EPSILON) for _ in range(2))
        self.attention = Attention(shape)
        self.gate, self.up = (nn.Linear(shape.width, shape.inner, bias=False) for _ in range(2))
        self.down = nn.Linear(shape.inner, shape.width, bias=False)

    def forward(self, x, begin, cos, sin):
        x = x + self.attention(self.before_attention(x), begin, cos, sin)
        y = self.before_mlp(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.last = nn.RMSNorm(shape.width, decoder_shape.EPSILON)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)

    def forward(self, tokens, begin):
        """Logits of the last of `tokens`, [1, T], which follow `begin` others in the cache."""
        x, end = self.tokens(tokens), begin + tokens.shape[1]
        for block in self.blocks:
            x = block(x, begin, self.cos[begin:end], self.sin[begin:end])
        return self.head(self.last(x[:, -1:]))


def make(shape):
    """A decoder with random_weights()."""
    with torch.device("meta"):
        model = Decoder(shape).to(torch.bfloat16)
    model = model.to_empty(device="cpu")
    parts = {"attn_q": "attention.q", "attn_k": "attention.k", "attn_v": "attention.v", "attn_output": "attention.output", "ffn_gate": "gate",
             "ffn_up": "up", "ffn_down": "down"}
    places = {"token_embd.weight": model.tokens.weight, "output.weight": model.head.weight}
    places |= {f"blk.{number}.{name}.weight": block.get_submodule(part).weight
               for number, block in enumerate(model.blocks) for name, part in parts.items()}
    for name, matrix in decoder_shape.random_weights(shape):
        places[name].copy_(torch.from_numpy(matrix))
    for module in model.modules():
        if isinstance(module, nn.RMSNorm):
            module.weight.fill_(1)
    for block in model.blocks:
        block.attention.make_cache()
    frequencies = decoder_shape.ROTARY_BASE ** (-torch.arange(0, shape.head_dim, 2) / shape.head_dim)
    angles = torch.arange(2 * decoder_shape.PROMPT)[:, None] * torch.cat((frequencies, frequencies))
    model.cos, model.sin = angles.cos().bfloat16(), angles.sin().bfloat16()
    return model.eval()


@torch.inference_mode()
def forms(shape, threads, *_):
    """run(tokens, begin) of the one form, which has the cache begin with `begin` tokens, adds `tokens` and returns the last one's logits."""
    torch.set_num_threads(threads)
    model = make(shape)

    @torch.inference_mode()
    def run(tokens, begin):
        return model(torch.tensor([tokens]), begin).float().numpy().ravel()
    return {"eager": run}
