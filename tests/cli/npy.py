"""Arrays in pure Python: a shape and a flat list of values, C order, and their .npy files written and parsed by hand."""
import ast
import itertools
import math
import struct

FORMATS = {"<f2": "e", "<u2": "H", "<V2": "H", "<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|b1": "?", "|i1": "b"}


class Array:
    def __init__(self, shape, values, descr="<f4"):
        self.shape, self.values, self.descr = tuple(shape), list(values), descr
        assert len(self.values) == math.prod(self.shape)

    def strides(self):
        return [math.prod(self.shape[axis + 1:]) for axis in range(len(self.shape))]

    def __getitem__(self, index):
        return self.values[sum(i * stride for i, stride in zip(index, self.strides()))]

    def numbers(self):
        """The values, where those of <u2 and <V2 are the bits of bf16."""
        if self.descr not in ("<u2", "<V2"):
            return self.values
        return [struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in self.values]

    def broadcast(self, index):
        """The value at `index` of a larger array this one is aligned to at the right, each axis full or 1."""
        own = index[len(index) - len(self.shape):]
        return self[[0 if extent == 1 else i for i, extent in zip(own, self.shape)]]

    def indices(self):
        return itertools.product(*map(range, self.shape))


def scalar(value, descr="<i4"):
    return Array((), [value], descr)


def rounded(values):
    """The values as float32 holds them."""
    values = list(values)
    return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))


def header(descr, shape, fortran=False, version=(1, 0)):
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {tuple(shape)!r}, }}"
    return preamble(text, version)


def preamble(text, version=(1, 0)):
    """Magic, version, length and the header's text, padded as NumPy pads it."""
    width = 2 if version[0] == 1 else 4
    text += " " * (-(8 + width + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if width == 2 else "<I", len(text)) + text.encode()


def data(array):
    return struct.pack(f"<{len(array.values)}{FORMATS[array.descr]}", *array.values)


def write(path, array, version=(1, 0)):
    path.write_bytes(header(array.descr, array.shape, version=version) + data(array))
    return path


def read(path):
    """Parses a version 1.0 file, and checks what the format asks of its header."""
    content = path.read_bytes()
    assert content[:8] == b"\x93NUMPY\x01\x00", content[:8]
    (length,) = struct.unpack("<H", content[8:10])
    assert (10 + length) % 64 == 0 and content[9 + length:10 + length] == b"\n"
    fields = ast.literal_eval(content[10:10 + length].decode())
    assert set(fields) == {"descr", "fortran_order", "shape"} and fields["fortran_order"] is False
    count = math.prod(fields["shape"])
    values = struct.unpack(f"<{count}{FORMATS[fields['descr']]}", content[10 + length:])
    return Array(fields["shape"], values, fields["descr"])
