#!/usr/bin/env python3
"""Draws the pictures of this folder with `attune explain --svg`.

Usage: draw.py ATTUNE [--check]: ATTUNE is the path of the command. With --check nothing is written: the exit code is 1, and the names of the
pictures that aren't what the command draws are printed, if there are any."""
import pathlib
import struct
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
DOCUMENTS = [0] * 5 + [1] * 7 + [2] * 4
BLOCKS = [[1, 0, 0, 0],
          [1, 1, 0, 0],
          [0, 1, 1, 0],
          [1, 0, 1, 1]]

# Name, mask, queries, keys, data.
PICTURES = [("causal", "causal", 16, 16, []),
            ("causal_bottom_right", "causal(bottom_right)", 8, 16, []),
            ("window", "window(6, 0)", 16, 16, []),
            ("prefix", "causal | prefix(5)", 16, 16, []),
            ("documents", "documents & causal", 16, 16, ["--documents", "documents.npy"]),
            ("dilated", "causal & dilated(3)", 16, 16, []),
            ("strided", "causal & (strided(4) | window(3, 0))", 16, 16, []),
            ("blocks", "blocks(4, 4) & causal", 16, 16, ["--block-map", "blocks.npy"])]


def write_npy(path, descr, shape, data):
    """https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, version 1.0."""
    text = str({"descr": descr, "fortran_order": False, "shape": shape})
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data)


def draw(attune, folder, name, mask, queries, keys, data):
    target = folder / f"{name}.svg"
    command = [attune, "explain", mask, "--queries", str(queries), "--keys", str(keys), "--block", "4x4", "--svg", target, *data]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return target.read_bytes()


def main(attune, check=False):
    stale = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_npy(folder / "documents.npy", "<i4", (16,), struct.pack("<16i", *DOCUMENTS))
        write_npy(folder / "blocks.npy", "|b1", (4, 4), bytes(sum(BLOCKS, [])))
        for picture in PICTURES:
            drawn, there = draw(attune, folder, *picture), FOLDER / f"{picture[0]}.svg"
            if not check:
                there.write_bytes(drawn)
            elif not there.exists() or there.read_bytes() != drawn:
                stale.append(there.name)
    known = {f"{picture[0]}.svg" for picture in PICTURES}
    stale += [path.name for path in FOLDER.glob("*.svg") if path.name not in known]
    if stale:
        sys.exit(f"not what attune explain draws: {', '.join(stale)}; run {pathlib.Path(__file__).name} ATTUNE")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    main(str(pathlib.Path(sys.argv[1]).resolve()), check=len(sys.argv) == 3)
