"""attune run mha: every option, against projections and attention by plain loops."""
import command
import oracle
from npy import Array


def linear(x, weight, bias=None):
    """x W^T + b over the last axis."""
    out, width = weight.shape
    values = []
    for row in range(len(x.values) // width):
        one = x.values[row * width:(row + 1) * width]
        values += [sum(a * b for a, b in zip(one, weight.values[c * width:(c + 1) * width])) + (bias.values[c] if bias else 0)
                   for c in range(out)]
    return Array(x.shape[:-1] + (out,), values)


def split(x, heads):
    """[B, tokens, heads * width] as [B, heads, tokens, width]."""
    batch, tokens, channels = x.shape
    width = channels // heads
    return Array((batch, heads, tokens, width),
                 [x[b, t, h * width + d] for b in range(batch) for h in range(heads) for t in range(tokens) for d in range(width)])


def merge(x):
    batch, heads, tokens, width = x.shape
    return Array((batch, tokens, heads * width),
                 [x[b, h, t, d] for b in range(batch) for t in range(tokens) for h in range(heads) for d in range(width)])


class Mha(command.CommandTest):
    WIDTHS = {"q": (12, 7), "k": (6, 5), "v": (4, 3), "o": (9, 8)}  # 4 heads of 3 and 2 channels that share 2

    def setUp(self):
        super().setUp()
        self.x, self.kv, self.value = (self.write(f"{name}.npy", self.normal(*shape))
                                       for name, shape in (("x", (2, 4, 7)), ("kv", (2, 5, 5)), ("value", (2, 5, 3))))
        self.weight = {name: self.write(f"w{name}.npy", self.normal(*shape)) for name, shape in self.WIDTHS.items()}
        self.bias = {name: self.write(f"b{name}.npy", self.normal(shape[0])) for name, shape in self.WIDTHS.items()}
        self.files = ["run", "mha", "x.npy", "--kv", "kv.npy", "--value", "value.npy", "-o", "out.npy", "--heads", 4, "--kv-heads", 2]
        for name in "qkv":
            self.files += [f"--w-{name}", f"w{name}.npy"]
        self.biases = [word for name in "qkvo" for word in (f"--b-{name}", f"b{name}.npy")]

    def attention(self, biased, **options):
        q, k, v = (split(linear(x, self.weight[name], self.bias[name] if biased else None), heads)
                   for x, name, heads in ((self.x, "q", 4), (self.kv, "k", 2), (self.value, "v", 2)))
        return oracle.attention(q, k, v, **options)

    def check(self, *options, **oracle_options):
        """With all biases, an output projection and weights."""
        self.run_well(*self.files, "--w-o", "wo.npy", *self.biases, "--weights", "weights.npy", *options)
        out, _, weights = self.attention(True, **oracle_options)
        self.assert_close("out.npy", linear(merge(out), self.weight["o"], self.bias["o"]))
        self.assert_close("weights.npy", weights)

    def test_all_at_once(self):
        self.check()

    def test_without_biases_and_output(self):
        self.run_well(*self.files)
        self.assert_close("out.npy", merge(self.attention(False)[0]))

    def test_numbers(self):
        self.check("--scale", "-0.5", scale=-0.5)
        self.check("--dropout", "0.5", "--seed", "7", drop=oracle.dropped(0.5, 7), keep=0.5)
        self.check("--score", "softcap(2)", softcap=2.0)
        self.check("--threads", "2", "--schedule", "flash")

    def test_masks(self):
        self.check("--mask", "causal", "--offset", "1", mask=lambda b, h, i, j: j <= i + 1)
        cells = self.write("mask.npy", Array((4, 5), [j == 0 or (i + j) % 3 > 0 for i in range(4) for j in range(5)], "|b1"))
        pad = self.write("pad.npy", Array((2, 5), [False, False, True, False, True] + [False] * 5, "|b1"))
        self.check("--mask-tensor", "mask.npy", "--polarity", "true_attends", mask=lambda b, h, i, j: cells[i, j])
        self.check("--mask-tensor", "mask.npy", "--polarity", "true_masks", mask=lambda b, h, i, j: not cells[i, j])
        self.check("--key-padding", "pad.npy", "--polarity", "true_masks", mask=lambda b, h, i, j: not pad[b, j])
        self.write("lengths.npy", Array((2,), [3, 5], "<i4"))
        self.check("--key-lengths", "lengths.npy", mask=lambda b, h, i, j: j < (3, 5)[b])
        bias = self.write("bias.npy", self.normal(1, 4, 1, 5))
        self.check("--bias", "bias.npy", bias=lambda b, h, i, j: bias[0, h, 0, j])

    def test_self_attention_without_a_batch_and_with_rotary(self):
        x = self.write("x.npy", self.normal(5, 7))
        weight = [self.write(f"w{name}.npy", self.normal(8, 7)) for name in "qkv"]
        self.run_well("run", "mha", "x.npy", "-o", "out.npy", "--heads", 2, "--w-q", "wq.npy", "--w-k", "wk.npy", "--w-v", "wv.npy", "--position",
                      "rotary(half)", "--context-length", 5)
        q, k, v = (split(linear(Array((1, 5, 7), x.values), w), 2) for w in weight)
        out = merge(oracle.attention(oracle.rotary(q), oracle.rotary(k), v)[0])
        self.assert_close("out.npy", out, shape=(5, 8))

    def test_what_is_refused(self):
        five = [5 if before == "--heads" else word for before, word in zip([None] + self.files, self.files)]
        self.refuse(*five, says=("heads is 5", "multiple of the 2 kv_heads"))
        self.write("wq.npy", self.normal(13, 7))
        self.refuse(*self.files, says=("query_weight has 13 outputs", "heads is 4"))
        self.write("wq.npy", self.weight["q"])
        self.refuse(*self.files, "--context-length", "4", says=("key has 5 tokens", "context_length is 4"))
        self.refuse(*self.files, "--polarity", "true_masks", says="--polarity is alone")
        self.write("pad.npy", Array((2, 5), [False] * 10, "|b1"))
        self.refuse(*self.files, "--key-padding", "pad.npy", says="--polarity is missing")
        self.refuse(*self.files, "--key-padding", "pad.npy", "--polarity", "blocked", says=("blocked", "true_masks"))
        self.refuse(*self.files, "--b-o", "bo.npy", says=("output_bias", "output_weight"))
        self.refuse(*self.files, "--dropout", "1", says=("--dropout", "below 1"))
        self.refuse("run", "mha", "x.npy", "-o", "out.npy", "--w-q", "wq.npy", says="--w-k")


if __name__ == "__main__":
    command.main()
