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
KERNELS = {"mma": (64, 64), "wgmma": (128, 128)}  # D; queries a thread block and, of that kernel for bf16, as many keys a step


class Skipping(command.CommandTest):
    def count(self, schedule, mask, dtype="bf16"):
        """Warp instructions of attention under a mask."""
        done = self.attune("run", "attention", "q.npy", "k.npy", "v.npy", "-o", "o.npy", "--dtype", dtype, "--mask", mask, "--device", "cuda",
                           "--schedule", schedule,
                           env={**os.environ, "ATTUNE_EMULATOR_COUNT": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return sum(map(int, re.findall(r": (\d+) warp instructions", done.stderr)))

    def test_time_goes_with_the_blocks_attended_to(self):
        for schedule, (dim, block) in KERNELS.items():
            with self.subTest(schedule):
                for name in "q", "k", "v":
                    bits = [0x3F80 + self.random.randrange(64) | self.random.randrange(2) << 15 for _ in range(TOKENS * dim)]
                    self.write(f"{name}.npy", Array((1, 1, TOKENS, dim), bits, "<u2"))
                self.check(schedule, block)

    def test_without_tensor_cores(self):
        for name in "q", "k", "v":
            self.write(f"{name}.npy", self.normal(1, 1, TOKENS // 2, 64))
        full = self.count("simt", "none", "f32")
        # Of 8 x 8 blocks 36 and 15.
        for mask, share in ("causal", 36 / 64), ("window(64, 0)", 15 / 64):
            counted = self.count("simt", mask, "f32") / full
            self.assertLess(counted, share * 1.2, mask)
            self.assertGreater(counted, share * 0.9, mask)

    def check(self, schedule, block):
        tiles = TOKENS // block
        full = self.count(schedule, "none")
        # The diagonal: one step a tile, hardly any step's work saved.
        one_block = self.count(schedule, f"window(0, {block - 1}) & window({block - 1}, 0)")
        step = (full - one_block) / (tiles * tiles - tiles)
        # A step that looks at no mask does little more for a score than to weigh it: what only partial blocks need isn't gone through.
        self.assertLess(step / (block * block / LANES), 20)
        around = one_block - tiles * step  # beside the steps; masks are looked at in it, and so it errs on the large side
        back = 256 // block  # whole blocks that a window of 255 keys to the left reaches back
        for mask, blocks, partial in [("causal", tiles * (tiles + 1) // 2, tiles), ("window(64, 0)", 2 * tiles - 1, 2 * tiles - 1),
                                      ("window(255, 0) & causal", (back + 1) * tiles - back * (back + 1) // 2, 2 * tiles - back)]:
            counted = self.count(schedule, mask)
            # A step that looks at the mask, and at whether all values are finite, takes less than three that don't.
            self.assertLess(counted, around + (blocks + 2 * partial) * step, mask)
            self.assertGreater(counted, blocks * step * 0.9, mask)


if __name__ == "__main__":
    command.main()
