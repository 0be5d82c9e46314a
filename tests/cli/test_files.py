"""Input files that are refused, and the forms of .npy that are read."""
import os
import struct

import command
import npy
from npy import Array


class Reading(command.CommandTest):
    """Through softmax, the simplest reader."""

    def accept(self, content, expected=(0.5, 0.5)):
        (self.folder / "x.npy").write_bytes(content)
        self.run_well("run", "softmax", "x.npy", "-o", "y.npy")
        self.assertEqual(tuple(self.read("y.npy").values), expected)

    def deny(self, content, *says):
        (self.folder / "x.npy").write_bytes(content)
        self.refuse("run", "softmax", "x.npy", "-o", "y.npy", says=("x.npy", *says))

    def test_versions(self):
        for version in [(1, 0), (2, 0), (3, 0)]:
            self.accept(npy.header("<f4", (2,), version=version) + bytes(8))
        for version in [(0, 0), (1, 1), (4, 0)]:
            self.deny(npy.header("<f4", (2,), version=version) + bytes(8), f"version {version[0]}.{version[1]}")

    def test_spellings_of_the_header(self):
        for text in ['{"shape":(2,),"fortran_order":False,"descr":"<f4"}', "{'descr': '<f4', 'fortran_order': False, 'shape': (2L,), }",
                     "{ 'fortran_order' : False , 'shape' : ( 2 , ) , 'descr' : '<f4' }   "]:
            self.accept(npy.preamble(text) + bytes(8))

    def test_malformed_headers(self):
        for text in ["", "{", "{}", "[1]", "{'descr': '<f4', 'fortran_order': False}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
                     "{'descr': '<f4', 'fortran_order': False, 'shape': 2}", "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
                     "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} 1",
                     "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "{'descr': '<f4, 'fortran_order': False}",
                     "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 'x'}"]:
            with self.subTest(text):
                self.deny(npy.preamble(text) + bytes(8), "header")

    def test_other_types_and_orders(self):
        for descr in ("<f8", ">f4", "<i4", "|b1", "<c8", "f4"):
            self.deny(npy.header(descr, (2,)) + bytes(16), f"'{descr}'", "'<f4'")
        self.deny(npy.header("<f4", (2,), fortran=True) + bytes(8), "Fortran order")

    def test_lengths(self):
        whole = npy.header("<f4", (2,)) + bytes(8)
        for length in range(len(whole)):
            self.deny(whole[:length])
        self.deny(whole[:-1], "truncated", "8 bytes", "7 are there")
        self.deny(whole + b"\0", "1 bytes after its data")
        self.deny(whole[:8] + struct.pack("<H", 65535) + whole[10:], "truncated")

    def test_shapes_past_any_memory(self):
        for shape in [(2**62, 2), (2**32, 2**32), (2**31, 2**31, 2), (10**30,)]:
            self.deny(npy.header("<f4", shape))
        self.deny(npy.header("<f4", (2**40,)) + bytes(8), "truncated")
        self.deny(npy.header("<f4", (1,) * 33) + bytes(4), "rank 33")

    def test_what_is_no_file(self):
        (self.folder / "folder").mkdir()
        os.mkfifo(self.folder / "pipe")
        for name in ("missing.npy", "folder", "pipe", "/dev/zero", "missing/x.npy"):
            self.refuse("run", "softmax", name, "-o", "y.npy", says=name)
        self.deny(b"PK\x03\x04 not an array at all", "isn't a .npy file")


class Shapes(command.CommandTest):
    """Inputs of attention that are well formed, and disagree."""

    def setUp(self):
        super().setUp()
        for name, shape in {"q": (2, 4, 3, 8), "k": (2, 2, 5, 8), "v": (2, 2, 5, 6)}.items():
            self.write(f"{name}.npy", self.normal(*shape))

    def deny(self, name, array, *options, says=()):
        self.write(name, array)
        self.refuse("run", "attention", "q.npy", "k.npy", "v.npy", "-o", "o.npy", *options, says=(name, *says))

    def test_queries_keys_and_values(self):
        for name, shape in [("q.npy", (8,)), ("q.npy", (1, 2, 4, 3, 8)), ("q.npy", ()), ("k.npy", (2, 5, 8)), ("v.npy", (5, 6)), ("k.npy", (1, 2, 5, 8)),
                            ("v.npy", (1, 2, 5, 6)), ("v.npy", (2, 1, 5, 6)), ("k.npy", (2, 2, 5, 7)), ("v.npy", (2, 2, 4, 6)), ("q.npy", (2, 3, 3, 8)),
                            ("v.npy", (2, 2, 5, 0)), ("k.npy", (2, 0, 5, 8))]:
            with self.subTest((name, shape)):
                before = (self.folder / name).read_bytes()
                self.deny(name, self.normal(*shape))
                (self.folder / name).write_bytes(before)
        for name in ("q.npy", "k.npy", "v.npy"):
            self.write(name, Array((2, 2, 5, 0) if name != "q.npy" else (2, 4, 3, 0), []))
        self.refuse("run", "attention", "q.npy", "k.npy", "v.npy", "-o", "o.npy", says="q.npy")

    def test_mask_tensor_and_bias(self):
        for shape in [(4,), (2, 5), (2, 4, 3, 2), (3, 4, 3, 5), (1, 2, 4, 3, 5), (0,)]:
            with self.subTest(shape):
                self.deny("a.npy", self.normal(*shape), "--bias", "a.npy")
                zeros = self.normal(*shape)
                self.deny("m.npy", Array(shape, [True] * len(zeros.values), "|b1"), "--mask-tensor", "m.npy")
        self.deny("m.npy", self.normal(5), "--mask-tensor", "m.npy", says=("'<f4'", "'|b1'"))
        self.deny("a.npy", Array((5,), [True] * 5, "|b1"), "--bias", "a.npy", says=("'|b1'", "'<f4'"))

    def test_lengths_and_offsets(self):
        for option in ("--key-lengths", "--offset"):
            for array in [Array((), [1], "<i4"), Array((1,), [1], "<i4"), Array((3,), [1] * 3, "<i4"), Array((2, 1), [1] * 2, "<i4"), self.normal(2)]:
                self.deny("n.npy", array, option, "n.npy")
        for descr in ("<i4", "<i8"):
            self.deny("n.npy", Array((2,), [5, 6], descr), "--key-lengths", "n.npy", says=("n.npy[1] is 6", "M = 5"))
            self.deny("n.npy", Array((2,), [-1, 5], descr), "--key-lengths", "n.npy", says=("n.npy[0] is -1", "M = 5"))
        self.deny("n.npy", Array((2,), [2**63 - 1, 5], "<i8"), "--key-lengths", "n.npy", says="n.npy[0]")


if __name__ == "__main__":
    command.main()
