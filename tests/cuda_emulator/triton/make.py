#!/usr/bin/env python3
"""Writes the PTX of a few Triton kernels, and kernels.txt with how to launch them.

Needs `pip install triton` (3.x from PyPI; made with 3.9), no GPU. Run it in this folder: python make.py
"""

import pathlib
import re

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = pathlib.Path(__file__).resolve().parent


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask) + tl.load(y + i, mask), mask)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < columns
    scores = tl.load(x + row * columns + i, mask, other=-float("inf"))
    weights = tl.exp(scores - tl.max(scores, 0))
    tl.store(out + row * columns + i, weights / tl.sum(weights, 0), mask)


@triton.jit
def matmul(a, b, out, n, depth, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    sums = tl.zeros((BM, BN), tl.float32)
    for start in range(0, depth, BK):
        x = tl.load(a + rows[:, None] * depth + start + k[None, :])
        y = tl.load(b + (start + k[:, None]) * n + columns[None, :])
        sums = tl.dot(x, y, sums)
    tl.store(out + rows[:, None] * n + columns[None, :], sums)


@triton.jit
def attention(query, key, value, out, scale, keys, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    channels = tl.arange(0, D)
    q = tl.load(query + rows[:, None] * D + channels[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, D), tl.float32)
    for start in range(0, keys, BN):
        columns = start + tl.arange(0, BN)
        inside = columns[:, None] < keys
        k = tl.load(key + columns[:, None] * D + channels[None, :], inside, other=0.0)
        v = tl.load(value + columns[:, None] * D + channels[None, :], inside, other=0.0)
        scores = tl.dot(q, tl.trans(k)) * (scale * 1.44269504)
        scores = tl.where(columns[None, :] < keys, scores, -float("inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        weights = tl.math.exp2(scores - higher[:, None])
        factor = tl.math.exp2(top - higher)
        total = total * factor + tl.sum(weights, 1)
        sums = tl.dot(weights.to(v.dtype), v, sums * factor[:, None])
        top = higher
    tl.store(out + rows[:, None] * D + channels[None, :], (sums / total[:, None]).to(out.dtype.element_ty))


POINTER = {"bf16": "*bf16", "f16": "*fp16"}


def kernels():
    """Name, function, types of the arguments, constants, warps."""
    f = dict.fromkeys
    yield "vector_add", vector_add, {**f(("x", "y", "out"), "*fp32"), "n": "i32"}, {"BLOCK": 512}, 4
    yield "softmax", softmax, {**f(("x", "out"), "*fp32"), "columns": "i32"}, {"BLOCK": 1024}, 4
    for kind in ("bf16", "f16"):
        types = {"a": POINTER[kind], "b": POINTER[kind], "out": "*fp32", "n": "i32", "depth": "i32"}
        wide = kind == "bf16"
        yield f"matmul_{kind}", matmul, types, {"BM": 64, "BN": 128 if wide else 64, "BK": 64 if wide else 32}, 4
    types = {**f(("query", "key", "value", "out"), "*bf16"), "scale": "fp32", "keys": "i32"}
    yield "attention", attention, types, {"BM": 64, "BN": 64, "D": 64}, 4


def without_debug(ptx):
    """Leaves out line numbers, which name this file, and debug sections."""
    ptx = ptx[: ptx.find("\t.section")] if "\t.section" in ptx else ptx
    return re.sub(r"^\s*(//.*|\.loc.*|\.file.*|\$L__(tmp|func_)\w*:.*)?\n", "", re.sub(r"\s*//.*", "", ptx), flags=re.M)


def main():
    lines = ["# file entry threads dynamic_shared_bytes; kernels in these files, see make.py"]
    for capability in (80, 90):
        for name, function, types, constants, warps in kernels():
            signature = {**types, **dict.fromkeys(constants, "constexpr")}
            # Pointers are aligned, and the sizes of matrices are multiples of 16; nothing is said of other numbers.
            aligned = [t[0] == "*" or (t == "i32" and function is matmul) for t in types.values()]
            divisible = {(i,): [["tt.divisibility", 16]] for i, known in enumerate(aligned) if known}
            source = ASTSource(function, signature, constexprs=constants, attrs=divisible)
            options = {"num_warps": warps, "num_stages": 3}
            compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
            file = f"{name}_sm{capability}.ptx"
            (HERE / file).write_text(without_debug(compiled.asm["ptx"]))
            lines.append(f"{file} {compiled.metadata.name} {compiled.metadata.num_warps * 32} {compiled.metadata.shared}")
    (HERE / "kernels.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
