"""What the tests of the command share: calling it in a folder of its own, and judging what it left there.

Each test file is a program: test_....py ATTUNE [unittest's options], where ATTUNE is the path of the command."""
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import npy

ATTUNE = None


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.random = random.Random(7)

    def attune(self, *arguments, **options):
        """Runs the command in the test's folder."""
        return subprocess.run([ATTUNE, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=240, **options)

    def run_well(self, *arguments, **options):
        """Runs it, expects success and silence on stderr; returns stdout."""
        done = self.attune(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def refuse(self, *arguments, says=(), code=2, **options):
        """Runs it, expects `code`, one sentence on stderr that holds every string of `says`, and an untouched folder."""
        before = self.contents()
        done = self.attune(*arguments, **options)
        self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
        self.assertRegex(done.stderr, r"\Aattune: [^\n]+\n\Z")
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, done.stderr)
        self.assertEqual(self.contents(), before, arguments)
        return done.stderr

    def contents(self):
        """Every file's name and bytes."""
        return {p.relative_to(self.folder): p.read_bytes() if p.is_file() else None for p in self.folder.rglob("*")}

    def normal(self, *shape):
        """Unit-normal values, as float32."""
        return npy.Array(shape, npy.rounded(self.random.gauss(0, 1) for _ in range(math.prod(shape))))

    def write(self, name, array, **options):
        npy.write(self.folder / name, array, **options)
        return array

    def read(self, name):
        return npy.read(self.folder / name)

    def assert_close(self, name, expected, tolerance=4e-6, shape=None):
        """The file holds float32 values of `shape`, each within `tolerance` * max(1, largest finite |expected|)."""
        actual = self.read(name)
        self.assertEqual((actual.descr, actual.shape), ("<f4", tuple(expected.shape if shape is None else shape)), name)
        limit = tolerance * max([1.0] + [abs(x) for x in expected.values if math.isfinite(x)])
        for index, (a, e) in enumerate(zip(actual.values, expected.values, strict=True)):
            same = a == e or (math.isnan(a) and math.isnan(e)) or abs(a - e) <= limit
            self.assertTrue(same, f"{name}[{index}] is {a}; expected {e} within {limit}")


def main():
    sys.modules["command"].ATTUNE = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(module="__main__", verbosity=2)
