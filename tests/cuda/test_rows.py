"""Softmax of rows that fit in registers reads and weighs each element once, several at a time: the emulator counts the instructions.
test_rows.py ATTUNE [unittest's options]."""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import command  # noqa: E402
from npy import Array  # noqa: E402

LANES = 32
ROWS = 128  # several blocks, also where one has 32 rows
# Warp instructions of a row, by length: at 4 TB/s an H200 issues some 224 while 1024 bytes are read and written.
MOST = {"f32": {32: 36, 64: 76, 128: 155, 512: 435, 1000: 800}, "bf16": {32: 24, 64: 52, 128: 105, 512: 365, 1000: 670}}
LONG = {"f32": 40, "bf16": 30}  # for LANES elements of a row that doesn't fit


class Rows(command.CommandTest):
    def count(self, rows, length, dtype):
        """Warp instructions of a row's softmax."""
        if dtype == "f32":
            self.write("x.npy", self.normal(rows, length))
        else:
            bits = [0x3F80 + self.random.randrange(64) | self.random.randrange(2) << 15 for _ in range(rows * length)]
            self.write("x.npy", Array((rows, length), bits, "<V2"))
        done = self.attune("run", "softmax", "x.npy", "-o", "y.npy", "--device", "cuda", env={**os.environ, "ATTUNE_EMULATOR_COUNT": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        counts = re.findall(r": (\d+) warp instructions", done.stderr)
        self.assertEqual(len(counts), 1, done.stderr)
        return int(counts[0]) / rows

    def test_short_rows(self):
        for dtype, most in MOST.items():
            for length, instructions in most.items():
                with self.subTest(dtype=dtype, length=length):
                    self.assertLess(self.count(ROWS, length, dtype), instructions)

    def test_long_rows(self):
        for dtype, instructions in LONG.items():
            for length in 50257, 65536:
                with self.subTest(dtype=dtype, length=length):
                    self.assertLess(self.count(2, length, dtype) / length * LANES, instructions)


if __name__ == "__main__":
    command.main()
