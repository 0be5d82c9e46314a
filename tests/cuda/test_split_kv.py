"""Split-KV attention of 16-bit types reads each key and value once, 16 bytes a thread:
test_split_kv.py ATTUNE KERNELS_FOLDER [unittest's options].

The emulator counts the instructions a launch executes."""
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import command  # noqa: E402
from npy import Array  # noqa: E402

KERNELS = pathlib.Path(sys.argv.pop(2))
KEYS, DIM = 2048, 64
WARP, WORD = 32, 16  # threads, bytes that a thread reads at once
ROWS = 16  # of a tile


def step_of(dim):
    """Keys, as split_kv_block in schedules/cuda/block_sizes.h."""
    return 32 if dim <= 192 else 16


class Reading(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.halves("k.npy", 1, KEYS), self.halves("v.npy", 1, KEYS)

    def halves(self, name, heads, tokens):
        bits = [0x3F80 + self.random.randrange(64) | self.random.randrange(2) << 15 for _ in range(heads * tokens * DIM)]
        self.write(name, Array((1, heads, tokens, DIM), bits, "<u2"))

    def count(self, heads, *options):
        """Warp instructions of the kernel that reads keys and values, for one query of so many heads."""
        self.halves("q.npy", heads, 1)
        done = self.attune("run", "attention", "q.npy", "k.npy", "v.npy", "-o", "o.npy", "--dtype", "bf16", "--device", "cuda",
                           "--schedule", "split_kv", *options,
                           env={**os.environ, "ATTUNE_EMULATOR_COUNT": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        counts = re.findall(r"chunk_state\S*: (\d+) warp instructions", done.stderr)
        self.assertEqual(len(counts), 1, done.stderr)
        return int(counts[0])

    def test_query_heads_share_it(self):
        alone = self.count(1)
        self.assertGreater(alone, 2 * KEYS * DIM * 2 // (WARP * WORD))
        for heads in 4, ROWS:
            self.assertLess(self.count(heads), alone * 1.15, heads)  # more rows' states are stored
        self.assertGreater(self.count(ROWS + 1), alone * 1.9)  # a second tile

    def test_keys_past_the_length_are_not_read(self):
        self.write("lengths.npy", Array((1,), [KEYS // 8], "<i8"))
        self.assertLess(self.count(4, "--key-lengths", "lengths.npy"), self.count(4) * 0.4)  # chunks without keys store their states, too


class Code(unittest.TestCase):
    def test_copies_are_wide(self):
        paths = sorted(KERNELS.glob("attune_attention_split_kv_*f16_d*.ptx"))
        if not paths:
            self.skipTest("no such kernel is linked in")
        for path in paths:
            dim = int(re.search(r"_d(\d+)$", path.stem)[1])
            kernels = path.read_text(encoding="utf-8").split(".visible .entry ")
            text = next(kernel for kernel in kernels if kernel.startswith("_kernel_chunk_state"))
            copies = re.findall(r"\bcp\.async\.\S+ [^;]*, (\d+);", text)
            self.assertEqual(copies, [str(WORD)] * (2 * step_of(dim) * dim * 2 // (WARP * WORD)), path)  # of keys and of values, and no others
            loads = re.findall(r"\bld\.global\S*?((?:\.v\d)?\.[bufs]\d+) ", text)
            self.assertEqual(loads.count(".v4.b32"), ROWS * dim * 2 // (WARP * WORD), path)  # of queries
            self.assertEqual(set(loads), {".v4.b32", ".b32"}, path)  # and lengths, offsets, biases


if __name__ == "__main__":
    command.main()
