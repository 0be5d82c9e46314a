"""attune run softmax, rotary, sinusoidal and add-positions: values of every option, ranks, and edge shapes."""

import command
import oracle
from npy import Array


class Softmax(command.CommandTest):
    def check(self, x, *options, temperature=1.0, log=False):
        self.write("x.npy", x)
        self.run_well("run", "softmax", "x.npy", "-o", "y.npy", *options)
        width, expected = x.shape[-1], []
        for at in range(0, len(x.values), width or 1):
            scores = [value / temperature for value in x.values[at:at + width]]
            weights, total = oracle.softmax_row(scores)
            expected += [score - total for score in scores] if log else weights
        self.assert_close("y.npy", Array(x.shape, expected))

    def test_softmax_of_sixteen_bits(self):
        half = [i / 8 - 3 for i in range(48)] # as f16 holds them
        x = self.write("x.npy", Array((6, 8), half, "<f2"))
        self.run_well("run", "softmax", "x.npy", "-o", "y.npy")
        y = self.read("y.npy")
        self.assertEqual(y.descr, "<f2")
        for row in range(6):
            weights, _ = oracle.softmax_row([x[row, column] for column in range(8)])
            for column in range(8):
                self.assertAlmostEqual(y[row, column], weights[column], delta=2.5e-4) # half a unit in the last place below 1/2
        for descr in ("<u2", "<V2"): # bf16: four equal numbers
            self.write("x.npy", Array((1, 4), [0x3f80] * 4, descr))
            self.run_well("run", "softmax", "x.npy", "-o", "y.npy")
            self.assertEqual(self.read("y.npy").values, [0x3e80] * 4)

    def test_ranks(self):
        for shape in [(1,), (5,), (3, 7), (2, 3, 17), (2, 1, 2, 3, 4), (1,) * 12 + (3,)]:
            self.check(self.normal(*shape))

    def test_no_elements(self):
        for shape in [(0,), (3, 0), (0, 3), (0, 0), (2, 0, 4)]:
            self.check(self.normal(*shape))

    def test_options(self):
        x = self.normal(4, 33)
        self.check(x, "--temperature", "0.5", temperature=0.5)
        self.check(x, "--log", log=True)
        self.check(x, "--log", "--temperature", "3", "--threads", "2", temperature=3.0, log=True)
        for schedule in ("reference", "vectorized"):
            self.check(x, "--schedule", schedule)

    def test_large_scores(self):
        self.check(Array((4,), [1e4, -1e4, 1e4, 0.0]))
        self.check(Array((2,), [88.0, -88.0]))

    def test_no_axis(self):
        self.write("x.npy", self.normal())
        self.refuse("run", "softmax", "x.npy", "-o", "y.npy", says=("x.npy", "rank 0"))


class Rotary(command.CommandTest):
    def check(self, x, *options, tolerance=1e-5, **oracle_options):
        self.write("x.npy", x)
        self.run_well("run", "rotary", "x.npy", "-o", "y.npy", *options)
        self.assert_close("y.npy", oracle.rotary(x, **oracle_options), tolerance=tolerance)

    def test_ranks(self):
        for shape in [(5, 8), (2, 5, 8), (2, 3, 5, 8), (1, 2)]:
            self.check(self.normal(*shape))
        for shape in [(), (8,), (1, 1, 1, 1, 8)]:
            self.write("x.npy", self.normal(*shape))
            self.refuse("run", "rotary", "x.npy", "-o", "y.npy", says=("x.npy", f"rank {len(shape)}"))

    def test_no_tokens(self):
        self.check(self.normal(0, 8))
        self.check(self.normal(0, 3, 8))

    def test_options(self):
        x = self.normal(2, 6, 16)
        self.check(x, "--layout", "half")
        self.check(x, "--layout", "interleaved", interleaved=True)
        self.check(x, "--base", "500000", base=5e5)
        self.check(x, "--rotary-dim", "8", rotary_dim=8)
        self.check(x, "--rotary-dim", "6", "--layout", "interleaved", rotary_dim=6, interleaved=True)
        self.check(x, "--offset", "100", "--threads", "2", offset=100)
        self.check(x, "--offset", "-3", offset=-3)
        self.check(x, "--offset", "1000000", offset=1000000, tolerance=3e-5)
        for schedule in ("reference", "vectorized"):
            self.check(x, "--schedule", schedule)

    def test_types(self):
        half = [i / 8 - 3 for i in range(48)] # as f16 holds them
        x = self.write("x.npy", Array((6, 8), half, "<f2"))
        self.run_well("run", "rotary", "x.npy", "-o", "y.npy")
        y, exact = self.read("y.npy"), oracle.rotary(x)
        self.assertEqual(y.descr, "<f2")
        for value, turned in zip(y.values, exact.values, strict=True):
            self.assertAlmostEqual(value, turned, delta=2e-3) # half a unit in the last place of numbers below 4
        bits = [0x3f80 + i for i in range(8)] # bf16, turned by nothing at position 0
        for descr in ("<u2", "<V2"):
            self.write("x.npy", Array((1, 8), bits, descr))
            self.run_well("run", "rotary", "x.npy", "-o", "y.npy")
            self.assertEqual(self.read("y.npy").values, bits)

    def test_positions(self):
        x = self.normal(2, 3, 4, 8)
        for descr in ("<i4", "<i8"):
            own = self.write("p.npy", Array((2, 4), [5, -3, 1000, 7, 0, 1, 2, 3], descr))
            self.check(x, "--positions", "p.npy", position=lambda stream, batch, token: own[batch, token])
        shared = self.write("p.npy", Array((4,), [5, -3, 1000, 7], "<i8"))
        self.check(x, "--positions", "p.npy", position=lambda stream, batch, token: shared[token,])

    def test_streams(self):
        x = self.normal(2, 3, 4, 12)
        streams = self.write("p.npy", Array((3, 1, 4), [5, -3, 100, 7, 0, 1, 2, 3, 9, 8, 7, 6], "<i4"))
        where = lambda stream, batch, token: streams[stream, 0, token]
        self.check(x, "--positions", "p.npy", "--sections", "1,3,2", position=where, sections=(1, 3, 2))
        self.check(x, "--positions", "p.npy", "--axes", "3", position=where, axes=3)
        self.check(x, "--positions", "p.npy", "--axes", "3", "--layout", "interleaved", position=where, axes=3, interleaved=True)

    def test_scaling(self):
        x = self.normal(2, 6, 16)
        self.check(x, "--scaling", "linear(4)", scaled=lambda frequency: frequency / 4)
        self.check(x, "--scaling", "ntk(4)", base=10000.0 * 4 ** (16 / 14))

    def test_bad_positions(self):
        self.write("x.npy", self.normal(3, 8))
        for array, says in [(Array((3,), [1.0] * 3), "<f4"), (Array((2,), [0, 1], "<i8"), "positions.extent[0] is 2; it must be 3"),
                            (Array((3,), [0, 1, 1 << 31], "<i8"), "positions[2] is 2147483648"), (Array((), [1], "<i8"), "rank 0")]:
            self.write("p.npy", array)
            self.refuse("run", "rotary", "x.npy", "-o", "y.npy", "--positions", "p.npy", says=says)
        for option, value, says in [("--sections", "1,x", "--sections is x"), ("--sections", "1,,3", "--sections is"), ("--sections", "1,2", "sections"),
                                    ("--axes", "3", "axes is 3"), ("--axes", "-1", "--axes is -1"), ("--scaling", "linear(0)", "factor is '0'")]:
            self.refuse("run", "rotary", "x.npy", "-o", "y.npy", option, value, says=says)

    def test_bad_widths(self):
        self.write("x.npy", self.normal(3, 8))
        for width in ("7", "10"):
            self.refuse("run", "rotary", "x.npy", "-o", "y.npy", "--rotary-dim", width, says=width)
        self.write("x.npy", self.normal(3, 7))
        self.refuse("run", "rotary", "x.npy", "-o", "y.npy", says="7")


class Sinusoidal(command.CommandTest):
    def check(self, tokens, dim, *options, **oracle_options):
        self.run_well("run", "sinusoidal", "--tokens", tokens, "--dim", dim, "-o", "y.npy", *options)
        self.assert_close("y.npy", oracle.sinusoidal(tokens, dim, **oracle_options), tolerance=1e-5)

    def test_shapes(self):
        for tokens, dim in [(1, 2), (6, 16), (3, 34), (0, 4)]:
            self.check(tokens, dim)

    def test_options(self):
        self.check(4, 8, "--base", "100.5", base=100.5)
        self.check(4, 8, "--offset", "1000000", "--threads", "2", offset=1000000)
        self.check(4, 8, "--offset", "-2", offset=-2)
        for schedule in ("reference", "vectorized"):
            self.check(5, 8, "--schedule", schedule)

    def test_sixteen_bits(self):
        table = oracle.sinusoidal(6, 16)
        for dtype, descr, bits in ("f16", "<f2", 11), ("bf16", "<u2", 8):
            self.run_well("run", "sinusoidal", "--tokens", 6, "--dim", 16, "-o", "y.npy", "--dtype", dtype)
            y = self.read("y.npy")
            self.assertEqual((y.descr, y.shape), (descr, (6, 16)))
            for value, expected in zip(y.numbers(), table.values, strict=True):
                self.assertAlmostEqual(value, expected, delta=2 ** -bits * abs(expected) + 1e-6)  # half a unit in the last place
        self.run_well("run", "sinusoidal", "--tokens", 6, "--dim", 16, "-o", "y.npy", "--dtype", "f32")
        self.assert_close("y.npy", table, tolerance=1e-5)
        self.refuse("run", "sinusoidal", "--tokens", 6, "--dim", 16, "-o", "z.npy", "--dtype", "f64", says="--dtype is f64; it must be f32, f16 or bf16")
        self.refuse("run", "sinusoidal", "--tokens", 6, "--dim", 16, "-o", "z.npy", "--dtype", "f16", "--schedule", "reference", says="reference")

    def test_sizes_that_are_needed(self):
        self.refuse("run", "sinusoidal", "--dim", "4", "-o", "y.npy", says="--tokens")
        self.refuse("run", "sinusoidal", "--tokens", "4", "-o", "y.npy", says="--dim")
        self.refuse("run", "sinusoidal", "--tokens", "4", "--dim", "4", says="--output")


class AddPositions(command.CommandTest):
    def check(self, x, row, *options):
        """row(batch, token) is what is added to each head's token."""
        self.write("x.npy", x)
        self.run_well("run", "add-positions", "x.npy", "-o", "y.npy", *options)
        heads = x.shape[1] if len(x.shape) == 4 else 1
        tokens, dim = x.shape[-2:]
        added = [row(i // dim // tokens // heads, i // dim % tokens)[i % dim] for i in range(len(x.values))]
        self.assert_close("y.npy", Array(x.shape, [value + more for value, more in zip(x.values, added)]), tolerance=1e-5)

    def test_sinusoidal(self):
        table = oracle.sinusoidal(12, 7, base=50.0)
        row = lambda token: table.values[token * 7:token * 7 + 7]
        self.check(self.normal(4, 7), lambda batch, token: row(token + 3), "--base", "50", "--offset", "3")
        for schedule in ("reference", "vectorized"):
            self.check(self.normal(2, 3, 4, 7), lambda batch, token: row(token), "--base", "50", "--schedule", schedule, "--threads", "2")
        numbers = self.write("p.npy", Array((2, 4), [11, 0, 5, 5, 2, 3, 1, 0], "<i4"))
        self.check(self.normal(2, 3, 4, 7), lambda batch, token: row(numbers[batch, token]), "--base", "50", "--positions", "p.npy")

    def test_sixteen_bits(self):
        self.write("t.npy", Array((2, 3), [0.5, -1, 2, 4, 8, -0.25]))
        self.write("x.npy", Array((2, 3), [1, 1.5, 2, -3, 0, 1024], "<f2"))
        self.run_well("run", "add-positions", "x.npy", "-o", "y.npy", "--table", "t.npy")
        y = self.read("y.npy")
        self.assertEqual((y.descr, y.values), ("<f2", [1.5, 0.5, 4, 1, 8, 1024]))  # 1023.75 rounded to what f16 has nearest
        for descr in ("<u2", "<V2"):  # bf16: 1, 2, -1 and 4, 0, 256
            self.write("x.npy", Array((2, 3), [0x3f80, 0x4000, 0xbf80, 0x4080, 0, 0x4380], descr))
            self.run_well("run", "add-positions", "x.npy", "-o", "y.npy", "--table", "t.npy")
            self.assertEqual(self.read("y.npy").values, [0x3fc0, 0x3f80, 0x3f80, 0x4100, 0x4100, 0x4380])

    def test_learned(self):
        table = self.write("t.npy", self.normal(6, 5))
        row = lambda token: table.values[token * 5:token * 5 + 5]
        self.check(self.normal(2, 3, 4, 5), lambda batch, token: row(token + 2), "--table", "t.npy", "--offset", "2")
        numbers = self.write("p.npy", Array((4,), [5, 0, 5, 3], "<i8"))
        self.check(self.normal(3, 4, 5), lambda batch, token: row(numbers[token,]), "--table", "t.npy", "--positions", "p.npy")
        self.write("x.npy", self.normal(4, 5))
        self.refuse("run", "add-positions", "x.npy", "-o", "y.npy", "--table", "t.npy", "--offset", "3", says="offset is 3; it must be 0 to 2")
        self.write("t.npy", self.normal(6, 4))
        self.refuse("run", "add-positions", "x.npy", "-o", "y.npy", "--table", "t.npy", says="table.extent[1] is 4; it must be 5")


if __name__ == "__main__":
    command.main()
