"""Blocks of keys that no query of a tile attends to aren't looked at: the emulator counts the instructions a launch executes."""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import command  # noqa: E402
from npy import Array  # noqa: E402

TOKENS, TILE, KEYS = 1024, 64, 64  # of the kernel for bf16 and D 64: queries a thread block, keys a step


class Skipping(command.CommandTest):
    def setUp(self):
        super().setUp()
        for name in "q", "k", "v":
            bits = [0x3F80 + self.random.randrange(64) | self.random.randrange(2) << 15 for _ in range(TOKENS * 64)]
            self.write(f"{name}.npy", Array((1, 1, TOKENS, 64), bits, "<u2"))

    def count(self, mask):
        """Warp instructions of attention under a mask."""
        done = self.attune("run", "attention", "q.npy", "k.npy", "v.npy", "-o", "o.npy", "--dtype", "bf16", "--mask", mask, "--device", "cuda",
                           env={**os.environ, "ATTUNE_EMULATOR_COUNT": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return sum(map(int, re.findall(r": (\d+) warp instructions", done.stderr)))

    def test_time_goes_with_the_blocks_attended_to(self):
        tiles = TOKENS // TILE
        all_blocks = tiles * TOKENS // KEYS
        full = self.count("none")
        one_block = self.count(f"window(0, {KEYS - 1}) & window({KEYS - 1}, 0)")  # the diagonal: one step a tile, hardly any step's work saved
        step = (full - one_block) / (all_blocks - tiles)
        around = one_block - tiles * step  # beside the steps; masks are looked at in it, and so it errs on the large side
        for mask, blocks, partial in [("causal", tiles * (tiles + 1) // 2, tiles), ("window(64, 0)", 2 * tiles - 1, 2 * tiles - 1),
                                      ("window(255, 0) & causal", 5 * tiles - 10, 2 * tiles - 4)]:
            counted = self.count(mask)
            # A step that looks at the mask, and at whether all values are finite, takes less than three that don't.
            self.assertLess(counted, around + (blocks + 2 * partial) * step, mask)
            self.assertGreater(counted, blocks * step * 0.9, mask)


if __name__ == "__main__":
    command.main()
