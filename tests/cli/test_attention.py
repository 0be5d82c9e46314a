"""attune run attention: values of every option, ranks, and edge shapes."""
import math

import command
import oracle
from npy import Array, scalar


class Attention(command.CommandTest):
    def inputs(self, q_shape, k_shape, v_shape=None):
        self.q = self.write("q.npy", self.normal(*q_shape))
        self.k = self.write("k.npy", self.normal(*k_shape))
        self.v = self.write("v.npy", self.normal(*(v_shape or k_shape)))

    def check(self, *options, **oracle_options):
        """Runs with all three outputs; compares each with the oracle, over inputs brought to rank 4."""
        self.run_well("run", "attention", "q.npy", "k.npy", "v.npy", "-o", "o.npy", "--lse", "l.npy", "--weights", "w.npy", *options)
        rank = len(self.q.shape)
        q, k, v = (Array((1,) * (4 - rank) + a.shape, a.values) for a in (self.q, self.k, self.v))
        out, lse, weights = oracle.attention(q, k, v, **oracle_options)
        self.assert_close("o.npy", out, shape=out.shape[4 - rank:])
        self.assert_close("l.npy", lse, shape=lse.shape[4 - rank:])
        self.assert_close("w.npy", weights, shape=weights.shape[4 - rank:])

    def test_ranks(self):
        for shape in [(2, 2, 3, 8), (2, 3, 8), (3, 8)]:
            with self.subTest(shape):
                self.inputs(shape, shape)
                self.check()

    def test_grouped_heads_and_a_value_width_of_its_own(self):
        self.inputs((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6))
        self.check()

    def test_one_output_only(self):
        self.inputs((2, 3, 8), (2, 5, 8))
        self.run_well("run", "attention", "q.npy", "k.npy", "v.npy", "--output", "o.npy")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["k.npy", "o.npy", "q.npy", "v.npy"])

    def test_numbers(self):
        self.inputs((2, 3, 8), (2, 5, 8))
        self.check("--scale", "0.75", scale=0.75)
        self.check("--scale", "-0.5", scale=-0.5)
        self.check("--scale", "0", scale=0.0)
        self.check("--softcap", "1.5", softcap=1.5)
        self.check("--temperature", "0.25", temperature=0.25)
        self.check("--scale=1e0", "--softcap=2.", "--temperature=4", scale=1.0, softcap=2.0, temperature=4.0)

    def test_offset(self):
        self.inputs((2, 1, 3, 8), (2, 1, 7, 8))
        for offset in (4, 0, -1, -5, 100):
            self.check("--mask", "causal", "--offset", offset, mask=lambda b, h, i, j: j <= i + offset)
        for descr in ("<i4", "<i8"):
            offsets = self.write("off.npy", Array((2,), [1, -2], descr))
            self.check("--mask", "causal", "--offset", "off.npy", mask=lambda b, h, i, j: j <= i + offsets[b,])

    def test_key_lengths(self):
        self.inputs((3, 1, 2, 8), (3, 1, 5, 8))
        for descr in ("<i4", "<i8"):
            lengths = self.write("len.npy", Array((3,), [0, 5, 2], descr))
            self.check("--key-lengths", "len.npy", mask=lambda b, h, i, j: j < lengths[b,])

    def test_one_batch_item_takes_a_number_without_axes(self):
        for shape in [(2, 3, 8), (3, 8), (1, 2, 3, 8)]:
            self.inputs(shape, shape)
            for two in (scalar(2), scalar(2, "<i8"), Array((1,), [2], "<i4")):
                self.write("two.npy", two)
                self.check("--key-lengths", "two.npy", mask=lambda b, h, i, j: j < 2)
                self.check("--mask", "causal", "--offset", "two.npy", mask=lambda b, h, i, j: j <= i + 2)

    def test_mask_tensor_and_bias_broadcast(self):
        self.inputs((2, 2, 3, 8), (2, 1, 5, 8))
        for shape in [(), (5,), (1,), (3, 1), (2, 3, 5), (1, 1, 3, 5), (2, 1, 1, 5), (2, 2, 3, 5)]:
            with self.subTest(shape):
                mask = self.write("m.npy", Array(shape, (self.random.random() < 0.6 for _ in range(math.prod(shape))), "|b1"))
                self.check("--mask-tensor", "m.npy", mask=lambda *at: mask.broadcast(at))
                bias = self.write("a.npy", self.normal(*shape))
                self.check("--bias", "a.npy", bias=lambda *at: bias.broadcast(at))

    def test_bias_masks_where_it_is_minus_infinity(self):
        self.inputs((3, 8), (4, 8))
        bias = self.write("a.npy", Array((4,), [0.0, -math.inf, 1.0, -math.inf]))
        self.check("--bias", "a.npy", bias=lambda *at: bias.broadcast(at))

    def test_everything_together(self):
        self.inputs((2, 4, 6, 8), (2, 2, 6, 8))
        mask = self.write("m.npy", Array((6,), [True, True, False, True, True, True], "|b1"))
        bias = self.write("a.npy", self.normal(4, 6, 6))
        lengths = self.write("len.npy", Array((2,), [6, 3], "<i8"))
        self.check("--mask", "causal & window(3, 0)", "--mask-tensor", "m.npy", "--bias", "a.npy", "--key-lengths", "len.npy", "--offset", "1",
                   "--scale", "0.5", "--softcap", "3", "--temperature", "2", "--threads", "2",
                   mask=lambda b, h, i, j: i - 2 <= j <= i + 1 and mask[j,] and j < lengths[b,],
                   bias=lambda *at: bias.broadcast(at), scale=0.5, softcap=3.0, temperature=2.0)

    def test_no_keys_gives_zeros_and_minus_infinity(self):
        self.inputs((2, 3, 8), (2, 0, 8))
        self.check()

    def test_no_queries_heads_or_batch(self):
        for q, k in [((2, 0, 8), (2, 3, 8)), ((0, 3, 8), (0, 3, 8)), ((0, 2, 3, 8), (0, 2, 4, 8)), ((0, 8), (0, 8))]:
            with self.subTest((q, k)):
                self.inputs(q, k)
                self.check()

    def test_sizes_of_one(self):
        self.inputs((1, 1), (1, 1))
        self.check()

    def test_nan_shows_where_it_is_attended_only(self):
        self.inputs((2, 8), (3, 8))
        self.v.values[16:24] = [math.nan] * 8
        self.write("v.npy", self.v)
        self.write("len.npy", scalar(2))
        self.check("--key-lengths", "len.npy", mask=lambda b, h, i, j: j < 2)
        self.run_well("run", "attention", "q.npy", "k.npy", "v.npy", "-o", "o.npy")
        self.assertTrue(all(math.isnan(x) for x in self.read("o.npy").values))

    def test_schedules_and_threads_agree(self):
        self.inputs((2, 9, 16), (2, 9, 16))
        for schedule in ("reference", "materialized", "flash"):
            for threads in ("1", "3"):
                self.check("--schedule", schedule, "--threads", threads, "--mask", "causal", mask=lambda b, h, i, j: j <= i)


if __name__ == "__main__":
    command.main()
