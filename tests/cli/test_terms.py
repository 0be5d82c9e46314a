"""attune run attention with scores, positions, documents, blocks, sinks, dropout, scores as an output, and types of 16 bits."""
import math
import struct

import command
import oracle
from npy import Array, rounded

B, H, N, M, D = 2, 4, 5, 7, 8


class Terms(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.q = self.write("q.npy", self.normal(B, H, N, D))
        self.k = self.write("k.npy", self.normal(B, 2, M, D))
        self.v = self.write("v.npy", self.normal(B, 2, M, D))

    def square(self):
        """As many queries as keys."""
        self.q = self.write("q.npy", self.normal(B, H, M, D))

    def files(self, *options):
        return ("run", "attention", "q.npy", "k.npy", "v.npy", "-o", "o.npy", *options)

    def check(self, *options, **expected):
        self.run_well(*self.files("--lse", "l.npy", "--weights", "w.npy", *options))
        for name, array in zip(("o.npy", "l.npy", "w.npy"), oracle.attention(self.q, self.k, self.v, **expected)):
            self.assert_close(name, array)

    def integers(self, name, *shape, low=0, high=2, descr="<i8"):
        return self.write(name, Array(shape, (self.random.randint(low, high) for _ in range(math.prod(shape))), descr))


class Scores(Terms):
    def test_softcap_alibi_and_bias(self):
        bias = self.write("a.npy", self.normal(H, 1, M))
        slope = lambda h: 2.0 ** (-2 * (h + 1))
        self.check("--score", "softcap(1.5) alibi(bottom_right) bias", "--bias", "a.npy", softcap=1.5,
                   bias=lambda b, h, i, j: bias.broadcast((b, h, i, j)) - slope(h) * abs(i + M - N - j))

    def test_t5(self):
        table = self.write("t.npy", self.normal(4, H))
        bucket = lambda relative: min(-relative, 1) if relative <= 0 else 2 + min(relative, 1)  # two exact buckets a side are one and the rest
        self.check("--score", "t5(4, 2, bidirectional)", "--t5-table", "t.npy", "--offset", "1", bias=lambda b, h, i, j: table[bucket(j - i - 1), h])

    def test_sinks(self):
        sinks = self.write("s.npy", self.normal(H))
        self.check("--sinks", "s.npy", "--temperature", "0.5", temperature=0.5, sinks=sinks)

    def test_dropout(self):
        for p, seed in [(0.5, 0), (0.25, 2**64 - 1), (0.0, 5)]:
            self.check("--dropout", p, "--seed", seed, drop=oracle.dropped(p, seed), keep=1 - p)

    def test_scores_of_each_stage(self):
        dots = [sum(self.q[b, h, i, d] * self.k[b, h // 2, j, d] for d in range(D)) / math.sqrt(D)
                for b in range(B) for h in range(H) for i in range(N) for j in range(M)]
        stages = {"scaled": dots, "capped": [2 * math.tanh(s / 2) for s in dots]}
        stages["masked"] = [s if at % M <= at // M % N else -math.inf for at, s in enumerate(stages["capped"])]
        for stage, expected in stages.items():
            self.run_well(*self.files("--scores", "s.npy", "--score-stage", stage, "--softcap", "2", "--mask", "causal(top_left)"))
            self.assert_close("s.npy", Array((B, H, N, M), expected))
        self.run_well(*self.files("--scores", "default.npy", "--softcap", "2", "--mask", "causal(top_left)"))
        self.assertEqual((self.folder / "default.npy").read_bytes(), (self.folder / "s.npy").read_bytes())

    def test_refusals(self):
        self.refuse(*self.files("--score", "softcap(30) alibis"), says=("column 13", "alibis"))
        self.refuse(*self.files("--score", "t5(4, 3, causal, top_left)"), says="t5_table")
        self.refuse(*self.files("--score", "alibi"), says=("alibi", "N = 5", "M = 7"))
        self.refuse(*self.files("--dropout", "1"), says=("--dropout is 1", "below 1"))
        self.refuse(*self.files("--dropout", "nan"), says="--dropout")
        for seed in ("-1", str(2**64), "x", "1.5"):
            self.refuse(*self.files("--seed", seed), says=f"--seed is {seed}")
        self.refuse(*self.files("--score-stage", "capped"), says=("--score-stage", "--scores"))
        self.refuse(*self.files("--scores", "s.npy", "--score-stage", "raw"), says=("--score-stage is raw", "scaled, capped or masked"))
        self.write("s.npy", self.normal(H + 1))
        self.refuse(*self.files("--sinks", "s.npy"), says=("sinks", "5", "4"))
        self.write("s.npy", self.normal(1, H))
        self.refuse(*self.files("--sinks", "s.npy"), says=("s.npy has rank 2", "1"))


class Masks(Terms):
    def test_documents(self):
        for shape, descr in [((M,), "<i4"), ((1, M), "<i8"), ((B, M), "<i8")]:
            ids = self.integers("d.npy", *shape, descr=descr)
            of = self.integers("e.npy", B, N, descr=descr)
            self.check("--mask", "documents", "--documents", "d.npy", "--query-documents", "e.npy",
                       mask=lambda b, h, i, j: ids.broadcast((b, j)) == of[b, i])

    def test_documents_of_both(self):
        self.square()
        ids = self.integers("d.npy", M)
        self.check("--mask", "documents & causal", "--documents", "d.npy", mask=lambda b, h, i, j: ids[i,] == ids[j,] and j <= i)
        self.write("s.npy", Array((4,), [0, 3, 3, M], "<i4"))
        self.check("--mask", "documents", "--document-starts", "s.npy", mask=lambda b, h, i, j: (i < 3) == (j < 3))

    def test_blocks(self):
        for shape in [(3, 3), (H, 3, 3), (B, 1, 3, 3)]:
            blocks = self.write("b.npy", Array(shape, (self.random.random() < 0.6 for _ in range(math.prod(shape))), "|b1"))
            self.check("--mask", "blocks(2, 3)", "--block-map", "b.npy", mask=lambda b, h, i, j: blocks.broadcast((b, h, i // 2, j // 3)))

    def test_lengths_and_tensors_as_terms(self):
        lengths = self.write("n.npy", Array((B,), [2, 5], "<i8"))
        self.check("--mask", "lengths | causal(top_left)", "--key-lengths", "n.npy", mask=lambda b, h, i, j: j < lengths[b,] or j <= i)
        cells = self.write("m.npy", Array((N, M), (self.random.random() < 0.6 for _ in range(N * M)), "|b1"))
        self.check("--mask", "tensor & prefix(6)", "--mask-tensor", "m.npy", mask=lambda b, h, i, j: cells[i, j] and j < 6)

    def test_refusals(self):
        self.refuse(*self.files("--mask", "documents"), says=("documents", "none is given"))
        self.integers("d.npy", M)
        self.refuse(*self.files("--documents", "d.npy"), says=("documents", "term"))
        self.refuse(*self.files("--mask", "documents", "--documents", "d.npy"), says=("query_documents", "N = 5", "M = 7"))
        self.refuse(*self.files("--mask", "blocks(2, 3)", "--block-map", "d.npy"), says=("d.npy", "'|b1'"))
        self.refuse(*self.files("--mask", "dilated(2, top_left)"), says=("dilated", 'attune_add_kernel(my_attention MASK "dilated(2, top_left)" HEAD_DIM 8)'))


class Positions(Terms):
    def turned(self, x, **options):
        return oracle.rotary(x, **options)

    def test_rotary(self):
        self.square()
        q, k = self.q, self.k
        for text, options in [("rotary(half)", {}), ("rotary(interleaved, base=100, width=4)", {"interleaved": True, "base": 100.0, "rotary_dim": 4})]:
            self.q, self.k = self.turned(q, **options), self.turned(k, **options)
            self.check("--position", text)
            self.q, self.k = self.turned(q, offset=9, **options), self.turned(k, **options)
            self.check("--position", text, "--offset", "9")
            self.write("p.npy", Array((M,), range(3, 3 + M), "<i4"))
            self.q, self.k = self.turned(q, offset=3, **options), self.turned(k, offset=3, **options)
            self.check("--position", text, "--positions", "p.npy")

    def test_positions_of_keys(self):
        self.write("p.npy", Array((B, N), list(range(4, 4 + N)) * B, "<i8"))
        self.write("r.npy", Array((M,), range(2, 2 + M), "<i4"))
        self.q, self.k = self.turned(self.q, offset=4), self.turned(self.k, offset=2)
        self.check("--position", "rotary(half)", "--positions", "p.npy", "--key-positions", "r.npy")

    def test_learned(self):
        table = self.write("t.npy", self.normal(20, D))
        add = lambda x, offset: Array(x.shape, (value + table[at // D % x.shape[2] + offset, at % D] for at, value in enumerate(x.values)))
        self.q, self.k = add(self.q, 6), add(self.k, 0)
        self.check("--position", "learned", "--position-table", "t.npy", "--offset", "6")

    def test_refusals(self):
        self.refuse(*self.files("--position", "rotary(half)"), says=("position", "N = 5", "M = 7"))
        self.refuse(*self.files("--position", "rotary(quarter)"), says=("column 8", "quarter"))
        self.write("p.npy", Array((N,), range(N), "<i4"))
        self.refuse(*self.files("--positions", "p.npy"), says="positions")


def brain(value):
    """A float32 whose lower half is zero."""
    return struct.unpack("<f", struct.pack("<I", struct.unpack("<I", struct.pack("<f", value))[0] & 0xFFFF0000))[0]


class Types(Terms):
    def check_type(self, descr, encode, ulp, *options):
        arrays = {}
        for name, array in {"q": self.q, "k": self.k, "v": self.v}.items():
            coded = self.write(f"{name}.npy", Array(array.shape, map(encode, array.values), descr))
            arrays[name] = Array(array.shape, coded.numbers())
        self.run_well(*self.files(*options))
        out = self.read("o.npy")
        expected = oracle.attention(arrays["q"], arrays["k"], arrays["v"])[0]
        self.assertEqual((out.descr, out.shape), ("<u2" if descr == "<V2" else descr, expected.shape))
        for got, want in zip(out.numbers(), expected.values, strict=True):
            self.assertLessEqual(abs(got - want), 8 * ulp * max(1.0, abs(want)))

    def test_f16(self):
        half = lambda value: struct.unpack("<e", struct.pack("<e", value))[0]
        for options in [(), ("--dtype", "f16")]:
            self.check_type("<f2", half, 2.0**-10, *options)

    def test_bf16(self):
        encode = lambda value: struct.unpack("<I", struct.pack("<f", brain(value)))[0] >> 16
        for descr in ("<u2", "<V2"):
            for options in [(), ("--dtype", "bf16")]:
                self.check_type(descr, encode, 2.0**-7, *options)

    def test_refusals(self):
        self.refuse(*self.files("--dtype", "f64"), says=("--dtype is f64", "f32, f16 or bf16"))
        self.refuse(*self.files("--dtype", "f16"), says=("q.npy", "'<f4'", "'<f2'"))
        self.refuse(*self.files("--dtype", "bf16"), says=("q.npy", "'<u2' or '<V2'"))
        self.write("q.npy", Array(self.q.shape, [1] * len(self.q.values), "<i4"))
        self.refuse(*self.files(), says=("q.npy", "'<i4'", "'<f4' or '<f2' or '<u2' or '<V2'"))
        self.write("q.npy", self.q)
        self.write("k.npy", Array(self.k.shape, rounded(self.k.values), "<f2"))
        self.refuse(*self.files(), says=("k.npy", "'<f2'", "'<f4'"))


if __name__ == "__main__":
    command.main()
