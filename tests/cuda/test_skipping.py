"""Blocks of keys that no query of a tile attends to aren't looked at, and others not more than they need: the emulator counts the
instructions a launch executes."""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import command  # noqa: E402
from npy import Array  # noqa: E402

TOKENS = 1024
LANES = 32
KERNELS = {"mma": (64, 128, 32), "wgmma": (128, 128, 128)}  # D; queries a thread block and keys a step of that kernel for bf16
BANDS = {"causal": (TOKENS, 0), "window(64, 0)": (64, 0), "window(255, 0) & causal": (255, 0)}  # keys to the left and to the right of a query


class Skipping(command.CommandTest):
    def count(self, schedule, mask, dtype="bf16"):
        """Warp instructions of attention under a mask."""
        done = self.attune("run", "attention", "q.npy", "k.npy", "v.npy", "-o", "o.npy", "--dtype", dtype, "--mask", mask, "--device", "cuda",
                           "--schedule", schedule,
                           env={**os.environ, "ATTUNE_EMULATOR_COUNT": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return sum(map(int, re.findall(r": (\d+) warp instructions", done.stderr)))

    def test_time_goes_with_the_blocks_attended_to(self):
        for schedule, (dim, queries, keys) in KERNELS.items():
            with self.subTest(schedule):
                for name in "q", "k", "v":
                    bits = [0x3F80 + self.random.randrange(64) | self.random.randrange(2) << 15 for _ in range(TOKENS * dim)]
                    self.write(f"{name}.npy", Array((1, 1, TOKENS, dim), bits, "<u2"))
                self.check(schedule, queries, keys)

    def test_without_tensor_cores(self):
        for name in "q", "k", "v":
            self.write(f"{name}.npy", self.normal(1, 1, TOKENS // 2, 64))
        full = self.count("simt", "none", "f32")
        # Little more is done than to multiply and add for both products: no loop over what isn't there, and operands are read four at a time.
        self.assertLess(full / (2 * (TOKENS // 2) ** 2 * 64 / LANES), 1.8)
        # Of 8 x 8 blocks 36 and 15.
        for mask, share in ("causal", 36 / 64), ("window(64, 0)", 15 / 64):
            counted = self.count("simt", mask, "f32") / full
            self.assertLess(counted, share * 1.2, mask)
            self.assertGreater(counted, share * 0.9, mask)

    def check(self, schedule, queries, keys):
        tiles, diagonal = TOKENS // queries, queries // keys
        full = self.count(schedule, "none")
        # The diagonal: few steps a tile, hardly any step's work saved.
        few_blocks = self.count(schedule, f"window(0, {queries - 1}) & window({queries - 1}, 0)")
        step = (full - few_blocks) / (tiles * (TOKENS // keys - diagonal))
        # A step that looks at no mask does little more for a score than to weigh it: what only partial blocks need isn't gone through.
        self.assertLess(step / (queries * keys / LANES), 20)
        # A window has partial blocks alone, as the diagonal has. One of them looks at the mask, and at whether all values are finite, and takes
        # some three full ones.
        blocks, partial = blocks_of(BANDS["window(64, 0)"], queries, keys)
        self.assertEqual(blocks, partial)
        masked = (self.count(schedule, "window(64, 0)") - few_blocks) / (partial - tiles * diagonal)
        self.assertGreater(masked, step)
        self.assertLess(masked / (queries * keys / LANES), 35)
        around = few_blocks - tiles * diagonal * masked  # beside the steps
        for mask in "causal", "window(255, 0) & causal":
            blocks, partial = blocks_of(BANDS[mask], queries, keys)
            predicted = around + (blocks - partial) * step + partial * masked
            self.assertLess(abs(self.count(schedule, mask) / predicted - 1), 0.2, mask)  # a tile's first step, which rescales, is dearer


def blocks_of(band, queries, keys):
    """How many blocks have a cell in a band, and how many of these have one outside."""
    left, right = band
    blocks = full = 0
    for query in range(0, TOKENS, queries):
        for key in range(0, TOKENS, keys):
            last_query, last_key = query + queries - 1, key + keys - 1
            blocks += last_key >= query - left and key <= last_query + right
            full += key >= last_query - left and last_key <= query + right
    return blocks, blocks - full


if __name__ == "__main__":
    command.main()
