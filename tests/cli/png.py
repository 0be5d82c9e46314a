"""Reads the .png files that browsers write: 8 bits a channel, RGB or RGBA, not interlaced (https://www.w3.org/TR/png)."""
import struct
import zlib


def paeth(left, above, corner):
    guess = left + above - corner
    nearest = min((abs(guess - left), 0, left), (abs(guess - above), 1, above), (abs(guess - corner), 2, corner))
    return nearest[2]


def unfiltered(kind, line, above, size):
    """A line whose bytes were stored as differences from their neighbours `size` bytes before, and from the line above."""
    line = bytearray(line)
    for i in range(len(line)):
        left, corner = (line[i - size], above[i - size]) if i >= size else (0, 0)
        guess = (0, left, above[i], (left + above[i]) // 2, paeth(left, above[i], corner))[kind]
        line[i] = (line[i] + guess) % 256
    return line


def read(path):
    """Rows of pixels, each (red, green, blue)."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at: at + 8])
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", data[at + 8: at + 8 + length])
            assert depth == 8 and colour in (2, 6) and not interlaced, (depth, colour, interlaced)
        if kind == b"IDAT":
            packed += data[at + 8: at + 8 + length]
        at += 12 + length
    size = 3 if colour == 2 else 4
    lines, stride, above = zlib.decompress(packed), 1 + size * width, bytes(size * width)
    rows = []
    for begin in range(0, stride * height, stride):
        above = unfiltered(lines[begin], lines[begin + 1: begin + stride], above, size)
        rows.append([tuple(above[i: i + 3]) for i in range(0, len(above), size)])
    return rows
