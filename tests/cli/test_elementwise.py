"""attune run softmax, rotary and sinusoidal: values of every option, ranks, and edge shapes."""

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

    def test_sizes_that_are_needed(self):
        self.refuse("run", "sinusoidal", "--dim", "4", "-o", "y.npy", says="--tokens")
        self.refuse("run", "sinusoidal", "--tokens", "4", "-o", "y.npy", says="--dim")
        self.refuse("run", "sinusoidal", "--tokens", "4", "--dim", "4", says="--output")


if __name__ == "__main__":
    command.main()
