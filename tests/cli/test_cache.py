"""attune run attention --cache: tokens appended to the files of a folder and attended over, call after call."""
import math

import command
import oracle
from npy import Array, rounded


def items(array, b):
    """Index b of the first axis, kept as an axis."""
    size = math.prod(array.shape[1:])
    return Array((1,) + array.shape[1:], array.values[b * size:(b + 1) * size], array.descr)


def joined(parts, shape):
    """Rank-4 arrays of one item and [heads, dim], one after another along the tokens."""
    heads, width = shape
    tokens = sum(part.shape[2] for part in parts)
    rows = [[part[0, h, t, d] for part in parts for t in range(part.shape[2]) for d in range(width)] for h in range(heads)]
    return Array((1, heads, tokens, width), sum(rows, []))


class Cache(command.CommandTest):
    heads, kv_heads, dim, width = 4, 2, 8, 6

    def setUp(self):
        super().setUp()
        (self.folder / "cache").mkdir()

    def make(self, batch, capacity, pages=0, descr="<f4", lengths="<i4"):
        """An empty cache; with `pages`, of that many tokens each, in a pool."""
        self.batch, self.capacity, self.pages = batch, capacity, pages
        self.records = [([], []) for _ in range(batch)]
        columns = capacity // pages if pages else 0
        outer, tokens = (batch * columns + 1, pages) if pages else (batch, capacity)
        for name, width in (("k", self.dim), ("v", self.width)):
            shape = (outer, self.kv_heads, tokens, width)
            self.write(f"cache/{name}.npy", Array(shape, [1] * math.prod(shape), descr))
            if descr == "|i1":
                self.write(f"cache/{name}_scale.npy", Array(shape[:3], [7.0] * math.prod(shape[:3])))
        self.write("cache/lengths.npy", Array((batch,), [0] * batch, lengths))
        if pages:
            numbers = list(range(1, batch * columns + 1))
            self.random.shuffle(numbers)
            self.table = self.write("cache/block_table.npy", Array((batch, columns), numbers, "<i8"))

    def step(self, queries, tokens, *options, window=10**9, tolerance=4e-6):
        """One call, against the oracle over all tokens that were ever appended."""
        q = self.write("q.npy", self.normal(self.batch, self.heads, queries, self.dim))
        k = self.write("k.npy", self.normal(self.batch, self.kv_heads, tokens, self.dim))
        v = self.write("v.npy", self.normal(self.batch, self.kv_heads, tokens, self.width))
        mask = "causal" if window > 10**8 else f"causal & window({window}, 0)"
        self.run_well("run", "attention", "q.npy", "k.npy", "v.npy", "-o", "o.npy", "--cache", "cache", "--mask", mask, *options)
        out = []
        for b, (keys, values) in enumerate(self.records):
            keys.append(items(k, b)), values.append(items(v, b))
            all_k, all_v = joined(keys, (self.kv_heads, self.dim)), joined(values, (self.kv_heads, self.width))
            length = all_k.shape[2]
            first = length - queries
            allowed = lambda _, h, i, j, first=first: i + first - window <= j <= i + first
            out += oracle.attention(items(q, b), all_k, all_v, mask=allowed)[0].values
        self.assert_close("o.npy", Array((self.batch, self.heads, queries, self.width), out), tolerance)
        self.assertEqual(self.read("cache/lengths.npy").values, [length] * self.batch)

    def kept(self, name, b, h, token):
        """A row of the cache's file."""
        array, token = self.read(f"cache/{name}.npy"), token % self.capacity
        page, place = (self.table[b, token // self.pages], token % self.pages) if self.pages else (b, token)
        return [array[page, h, place, d] for d in range(array.shape[3])]

    def test_one_tensor_an_item(self):
        for lengths in ("<i4", "<i8"):
            self.make(2, 12, lengths=lengths)
            self.step(5, 5)
            self.step(1, 1)
            self.step(2, 0)
            self.step(3, 6)
            last = self.records[1][0][-1]
            self.assertEqual(self.kept("k", 1, 1, 11), [last[0, 1, 5, d] for d in range(self.dim)])

    def test_pages(self):
        for pages in (1, 4):
            self.make(2, 12, pages=pages)
            self.step(5, 5)
            self.step(1, 1)
            self.step(6, 6)
            last = self.records[0][1][-1]
            self.assertEqual(self.kept("v", 0, 1, 11), [last[0, 1, 5, d] for d in range(self.width)])

    def test_a_ring(self):
        for pages in (0, 4):
            self.make(2, 8, pages=pages)
            for tokens in (3, 3, 1, 3, 3, 3, 2):
                self.step(tokens, tokens, "--cache-ring", window=5)

    def test_int8(self):
        self.make(2, 12, pages=4, descr="|i1")
        self.step(5, 5, tolerance=0.03)
        self.step(1, 1, tolerance=0.03)
        row = [self.records[1][0][-1][0, 1, 0, d] for d in range(self.dim)]
        scale = rounded([max(map(abs, row)) / 127])[0]
        self.assertEqual(self.kept("k", 1, 1, 5), [round(rounded([x / scale])[0]) for x in row])

    def test_other_types_and_ranks(self):
        self.write("q.npy", Array((1, 8), [0.5] * 8, "<f2"))
        self.write("cache/k.npy", Array((3, 8), [0.25] * 24, "<f2"))
        self.write("cache/v.npy", Array((3, 8), [2.0] * 24, "<f2"))
        self.write("cache/lengths.npy", Array((), [2], "<i4"))
        self.run_well("run", "attention", "q.npy", "q.npy", "q.npy", "-o", "o.npy", "--cache", "cache")
        self.assertEqual(self.read("cache/k.npy").values, [0.25] * 16 + [0.5] * 8)
        lengths = self.read("cache/lengths.npy")
        self.assertEqual((lengths.shape, lengths.values), ((), [3]))
        self.assertEqual(self.read("o.npy").shape, (1, 8))

    def test_errors_leave_every_file_as_it_was(self):
        def refuse(*options, says):
            self.refuse("run", "attention", "q.npy", "k.npy", "v.npy", "-o", "o.npy", *options, says=says)

        self.make(2, 4, pages=2)
        self.write("q.npy", self.normal(2, 4, 3, 8))
        self.write("k.npy", self.normal(2, 2, 3, 8))
        self.write("v.npy", self.normal(2, 2, 3, 6))
        refuse("--cache-ring", says=("--cache-ring", "--cache"))
        refuse("--cache", "nowhere", says=("nowhere/k.npy", "No such file"))
        refuse("--cache", "x" * 300, says=("x/block_table.npy can't be looked for", "name too long"))
        refuse("--cache", "cache", "--lse", "cache/k.npy", says=("--lse", "cache/k.npy", "--cache"))
        self.write("cache/lengths.npy", Array((2,), [0, 2], "<i4"))
        refuse("--cache", "cache", says=("cache.lengths[1] is 2", "3 new tokens", "at most 1"))
        refuse("--cache", "cache", "--cache-ring", says=("query 0 of batch item 1", "token 0", "ring of 4"))
        self.write("cache/lengths.npy", Array((3,), [0, 0, 0], "<i4"))
        refuse("--cache", "cache", says=("lengths.npy", "[3]", "[2]"))
        self.write("cache/lengths.npy", Array((2,), [0, 0], "<i4"))
        self.write("cache/block_table.npy", Array((2, 2), [1, 2, 3, 5], "<i4"))
        refuse("--cache", "cache", says=("cache.block_table[1, 1] is 5", "0 to 4"))
        self.write("cache/block_table.npy", Array((2, 2), [1, 2, 3, 4], "<i4"))
        refuse("--cache", "cache", "--key-lengths", "cache/lengths.npy", says=("key_lengths", "cache.lengths"))
        self.write("cache/v.npy", Array((5, 2, 2, 6), [1] * 120, "|i1"))
        refuse("--cache", "cache", says=("v.npy", "|i1", "<f4"))


if __name__ == "__main__":
    command.main()
