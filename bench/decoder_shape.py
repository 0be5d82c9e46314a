"""The decoder that gpt_bench times, for its peers: sizes, random weights and what one token takes."""
from collections import namedtuple

PROMPT = 1024  # tokens, as gpt_bench has it
CASES = ("decode_16", f"decode_{PROMPT}", f"prefill_{PROMPT}")
ROTARY_BASE = 500000.0
EPSILON = 1e-5


class Shape(namedtuple("Shape", "width layers inner heads kv_heads vocabulary", defaults=(2048, 16, 8192, 32, 8, 32000))):
    """The arguments of gpt_bench, in its order."""

    @property
    def head_dim(self):
        return self.width // self.heads

    @property
    def matrices(self):
        """Rows and columns of a block's matrices, by the names that they have in GGUF files."""
        kv_rows = self.kv_heads * self.head_dim
        return {"attn_q": (self.width, self.width), "attn_k": (kv_rows, self.width), "attn_v": (kv_rows, self.width),
                "attn_output": (self.width, self.width), "ffn_gate": (self.inner, self.width), "ffn_up": (self.inner, self.width),
                "ffn_down": (self.width, self.inner)}

    @property
    def block_weights(self):
        return self.layers * sum(rows * columns for rows, columns in self.matrices.values())

    def bytes_read(self, tokens):
        """What a token after `tokens` others reads of weights, keys and values of 16 bits, its own included, as gpt_bench counts."""
        cached = 2 * self.layers * self.kv_heads * self.head_dim * (tokens + 1)
        return 2 * (self.block_weights + self.vocabulary * self.width + cached)

    @property
    def prefill_flops(self):
        """Of the blocks' products with weights, as gpt_bench counts."""
        return 2.0 * self.block_weights * PROMPT

    def prompt(self, length):
        return [i * 7919 % self.vocabulary for i in range(length)]


def line(peer, case, shape, threads, seconds, **more):
    """A line of the report, with the keys that gpt_bench has for the same things."""
    kind, length = case.split("_")
    is_prefill = kind == "prefill"
    rate = {"gflops": shape.prefill_flops / seconds * 1e-9} if is_prefill else {"gbps": shape.bytes_read(int(length)) / seconds * 1e-9}
    tokens = PROMPT if is_prefill else 1
    return {"peer": peer, "case": case, **more, "threads": threads, "ms": seconds * 1e3, "tokens_per_s": tokens / seconds, **rate}


def random_matrix(seed, rows, columns):
    """Uniform numbers, f32, whose products keep the size of what they multiply."""
    import numpy as np
    values = np.random.default_rng(seed).random((rows, columns), np.float32)
    values -= 0.5
    values *= 2 * (3 / columns) ** 0.5
    return values


def random_weights(shape):
    """Names, as in GGUF files, and matrices, one after the other: all would fill the memory. Norms have weights of one."""
    yield "token_embd.weight", random_matrix(0, shape.vocabulary, shape.width)
    for layer in range(shape.layers):
        for number, (name, (rows, columns)) in enumerate(shape.matrices.items()):
            yield f"blk.{layer}.{name}.weight", random_matrix(1 + layer * len(shape.matrices) + number, rows, columns)
    yield "output.weight", random_matrix(1 + shape.layers * len(shape.matrices), shape.vocabulary, shape.width)
