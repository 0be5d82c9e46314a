"""attune run softmax with an axis and a mask, log-sum-exp, merge and alibi-slopes."""

import math

import command
import oracle
from npy import Array, scalar

INF = math.inf


def lines(shape, axis):
    """The places, in C order, of the elements of each line along the axis."""
    after = math.prod(shape[axis + 1:])
    step = after * shape[axis]
    return [[outer * step + i * after + inner for i in range(shape[axis])] for outer in range(math.prod(shape[:axis])) for inner in range(after)]


class Axis(command.CommandTest):
    def scores(self, x, mask, temperature):
        """x / T in C order, -inf where the mask is false."""
        allowed = [mask is None or mask.broadcast(index) for index in x.indices()]
        return [value / temperature if allow else -INF for value, allow in zip(x.values, allowed)]

    def mask(self, *shape):
        return self.write("mask.npy", Array(shape, [self.random.random() < 0.7 for _ in range(math.prod(shape))], "|b1"))


class Softmax(Axis):
    def check(self, x, axis, *options, mask=None, temperature=1.0, log=False):
        self.write("x.npy", x)
        masked = ["--mask-tensor", "mask.npy"] if mask else []
        self.run_well("run", "softmax", "x.npy", "-o", "y.npy", "--axis", axis, *masked, *options)
        scores, expected = self.scores(x, mask, temperature), [0.0] * len(x.values)
        for line in lines(x.shape, axis % len(x.shape)):
            weights, total = oracle.softmax_row([scores[place] for place in line])
            for place, weight in zip(line, weights):
                expected[place] = weight if not log else -INF if scores[place] == -INF else scores[place] - total
        self.assert_close("y.npy", Array(x.shape, expected))

    def test_every_axis(self):
        for shape in [(7,), (3, 17), (2, 3, 5), (2, 1, 4, 3, 2), (1,) * 10 + (3, 2)]:
            for axis in range(-len(shape), len(shape)):
                self.check(self.normal(*shape), axis)

    def test_masks(self):
        x = self.normal(3, 5, 4)
        for shape in [(3, 5, 4), (5, 1), (4,), (3, 1, 1), (), (1, 1, 4)]:
            mask = self.mask(*shape)
            for axis in (0, 1, -1):
                self.check(x, axis, mask=mask)
        self.check(x, 1, "--log", "--temperature", "0.5", mask=self.mask(5, 4), log=True, temperature=0.5)

    def test_nothing_counts(self):
        self.write("mask.npy", Array((1,), [False], "|b1"))
        self.write("x.npy", self.normal(2, 3))
        for options, nothing in [((), 0.0), (("--log",), -INF)]:
            self.run_well("run", "softmax", "x.npy", "-o", "y.npy", "--axis", "0", "--mask-tensor", "mask.npy", *options)
            self.assertEqual(self.read("y.npy").values, [nothing] * 6)

    def test_no_elements(self):
        for shape, axis in [((0, 3), 0), ((0, 3), 1), ((2, 0, 3), 0)]:
            self.check(self.normal(*shape), axis)
        self.write("x.npy", Array((65536, 65536, 0), []))  # axes that no one axis can stand for
        self.run_well("run", "softmax", "x.npy", "-o", "y.npy")
        self.assertEqual(self.read("y.npy").shape, (65536, 65536, 0))

    def test_bad_axes(self):
        self.write("x.npy", self.normal(3, 4))
        for axis in ("2", "-3"):
            self.refuse("run", "softmax", "x.npy", "-o", "y.npy", "--axis", axis, says=(f"--axis is {axis}", "-2 to 1", "x.npy", "rank 2"))
        self.refuse("run", "softmax", "x.npy", "-o", "y.npy", "--axis", "first", says="--axis is first")

    def test_bad_masks(self):
        self.write("x.npy", self.normal(3, 4))
        for shape in [(3,), (4, 3), (1, 3, 4)]:
            self.mask(*shape)
            self.refuse("run", "softmax", "x.npy", "-o", "y.npy", "--mask-tensor", "mask.npy", says=("mask.npy has shape", "[3, 4]"))
        self.write("mask.npy", self.normal(3, 4))
        self.refuse("run", "softmax", "x.npy", "-o", "y.npy", "--mask-tensor", "mask.npy", says=("mask.npy", "|b1"))
        self.write("x.npy", self.normal(*(1,) * 8, 2))
        self.mask(2)
        self.refuse("run", "softmax", "x.npy", "-o", "y.npy", "--mask-tensor", "mask.npy", says=("x.npy", "rank 9", "at most 8"))


class LogSumExp(Axis):
    def check(self, x, axis, *options, mask=None, temperature=1.0):
        self.write("x.npy", x)
        masked = ["--mask-tensor", "mask.npy"] if mask else []
        self.run_well("run", "log-sum-exp", "x.npy", "-o", "y.npy", "--axis", axis, *masked, *options)
        scores, shape = self.scores(x, mask, temperature), list(x.shape)
        expected = [oracle.softmax_row([scores[place] for place in line])[1] for line in lines(x.shape, axis % len(shape))]
        shape[axis % len(shape)] = 1
        self.assert_close("y.npy", Array(shape, expected))

    def test_every_axis(self):
        for shape in [(7,), (3, 17), (2, 3, 5), (1,) * 10 + (3, 2)]:
            for axis in range(-len(shape), len(shape)):
                self.check(self.normal(*shape), axis)

    def test_options(self):
        x = self.normal(3, 20, 5)
        self.check(x, 1, "--temperature", "0.25", temperature=0.25)
        self.check(x, 1, "--threads", "2", mask=self.mask(20, 1))
        for schedule in ("reference", "vectorized"):
            self.check(x, 0, "--schedule", schedule)

    def test_sum_of_nothing(self):
        self.write("x.npy", self.normal(2, 0, 3))
        self.run_well("run", "log-sum-exp", "x.npy", "-o", "y.npy", "--axis", "1")
        self.assertEqual(self.read("y.npy").values, [-INF] * 6)

    def test_no_axis(self):
        self.write("x.npy", scalar(1.0, "<f4"))
        self.refuse("run", "log-sum-exp", "x.npy", "-o", "y.npy", says=("x.npy", "rank 0"))


class Merge(command.CommandTest):
    def write_part(self, name, *shape):
        """A result in NAME.npy and its log-sum-exp in NAME_lse.npy."""
        return self.write(f"{name}.npy", self.normal(*shape)), self.write(f"{name}_lse.npy", self.normal(*shape[:-1]))

    def check(self, a, a_lse, b, b_lse, *options):
        self.run_well("run", "merge", "a.npy", "a_lse.npy", "b.npy", "b_lse.npy", "-o", "out.npy", "--lse", "lse.npy", *options)
        width, out, lse = a.shape[-1], [], []
        for row, pair in enumerate(zip(a_lse.values, b_lse.values)):
            weights, total = oracle.softmax_row(list(pair))
            lse.append(total)
            out += [weights[0] * a.values[at] + weights[1] * b.values[at] for at in range(row * width, (row + 1) * width)]
        self.assert_close("out.npy", Array(a.shape, out))
        self.assert_close("lse.npy", Array(a_lse.shape, lse))

    def test_ranks_and_schedules(self):
        for shape in [(5, 8), (2, 5, 8), (2, 3, 5, 7), (0, 4)]:
            parts = self.write_part("a", *shape) + self.write_part("b", *shape)
            self.check(*parts)
            for schedule in ("reference", "vectorized"):
                self.check(*parts, "--schedule", schedule, "--threads", "2")

    def test_no_keys(self):
        a, a_lse = self.write_part("a", 3, 4)
        b = self.write("b.npy", Array((3, 4), [9.0] * 12))
        b_lse = self.write("b_lse.npy", Array((3,), [-INF] * 3))
        self.check(a, a_lse, b, b_lse)
        self.assertEqual(self.read("out.npy").values, a.values)

    def test_halves_make_the_whole(self):
        q, k, v = (self.write(f"{name}.npy", self.normal(1, 2, tokens, 8)) for name, tokens in [("q", 3), ("k", 10), ("v", 10)])
        for part, keys in [("a", range(0, 4)), ("b", range(4, 10))]:
            for name, x in [("kp", k), ("vp", v)]:
                self.write(f"{name}.npy", Array((1, 2, len(keys), 8), [x[0, h, j, d] for h in range(2) for j in keys for d in range(8)]))
            self.run_well("run", "attention", "q.npy", "kp.npy", "vp.npy", "-o", f"{part}.npy", "--lse", f"{part}_lse.npy")
        self.run_well("run", "merge", "a.npy", "a_lse.npy", "b.npy", "b_lse.npy", "-o", "out.npy", "--lse", "lse.npy")
        out, lse, _ = oracle.attention(q, k, v)
        self.assert_close("out.npy", out)
        self.assert_close("lse.npy", lse)

    def test_shapes_that_disagree(self):
        self.write_part("a", 2, 3, 4)
        run = ("run", "merge", "a.npy", "a_lse.npy", "b.npy", "b_lse.npy", "-o", "out.npy")
        self.write_part("b", 2, 3, 5)
        self.refuse(*run, says=("b.npy", "[2, 3, 5]", "[2, 3, 4]", "a.npy"))
        self.write_part("b", 2, 3, 4)
        self.write("b_lse.npy", self.normal(2, 3, 1))
        self.refuse(*run, says=("b_lse.npy", "[2, 3, 1]", "[2, 3]", "b.npy"))
        self.write_part("b", 4)
        self.refuse(*run, says=("b.npy", "rank 1"))


class AlibiSlopes(command.CommandTest):
    def slopes(self, heads):
        """As ALiBi's authors build them."""
        if heads & (heads - 1) == 0:
            start = 2 ** -(2 ** -(math.log2(heads) - 3))
            return [start ** (h + 1) for h in range(heads)]
        lower = 2 ** math.floor(math.log2(heads))
        return self.slopes(lower) + self.slopes(2 * lower)[0::2][:heads - lower]

    def test_any_number_of_heads(self):
        for heads in (1, 2, 3, 8, 12, 32, 40, 71):
            self.run_well("run", "alibi-slopes", heads, "-o", "slopes.npy")
            self.assert_close("slopes.npy", Array((heads,), self.slopes(heads)), tolerance=1e-7)
        self.run_well("run", "alibi-slopes", "0", "-o", "slopes.npy")
        self.assert_close("slopes.npy", Array((0,), []))
        for schedule in ("reference", "vectorized"):
            self.run_well("run", "alibi-slopes", "12", "-o", "slopes.npy", "--schedule", schedule)
            self.assert_close("slopes.npy", Array((12,), self.slopes(12)), tolerance=1e-7)

    def test_bad_numbers(self):
        for heads in ("-1", "many", "3000000000"):
            self.refuse("run", "alibi-slopes", "-o", "slopes.npy", "--", heads, says=f"HEADS is {heads}")


if __name__ == "__main__":
    command.main()
