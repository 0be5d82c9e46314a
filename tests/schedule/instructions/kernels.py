"""The prebuilt kernels as tests of their machine code read them: test_NAME.py OBJDUMP AR KERNELS_FOLDER TUNED_FOLDER ARCHIVE... [-- unittest's
options]."""
import json
import pathlib
import re
import sys
import unittest

from machine_code import Disassembler

OPTIONS = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
CODE, AR, KERNELS, TUNED = Disassembler(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
ARCHIVES = [pathlib.Path(path).resolve() for path in sys.argv[5:OPTIONS]]

AVX2 = "x86-64-linux-sse41-avx-f16c-fma-avx2"
FLOAT_LANES = {"x86-64-avx512_bf16": 16, "x86-64-avx512": 16, "x86-64-avx2": 8}
FEATURES = {"x86-64-avx512_bf16": AVX2 + "-avx512-avx512_skylake-avx512_cannonlake-avx512_zen4",
            "x86-64-avx512_zen5": AVX2 + "-avx512-avx512_skylake-avx512_cannonlake-avx512_zen4-avx512_zen5",
            "x86-64-avx512_amx": AVX2 + "-avx512-avx512_skylake-avx512_cannonlake-avx512_sapphirerapids",
            "x86-64-avx512": AVX2 + "-avx512-avx512_skylake", "x86-64-avx2": AVX2, "x86-64": "x86-64-linux"}
# Machine and type of the products looked at, and the instruction that must do them. bf16 without that instruction is f32 inside.
FMA = r"vfn?madd\d+ps"
PRODUCTS = [("x86-64-avx512", "f32", FMA), ("x86-64-avx2", "f32", FMA), ("x86-64-avx512_bf16", "bf16", "vdpbf16ps"),
            ("x86-64-avx512", "bf16", FMA), ("x86-64-avx2", "bf16", FMA)]


def object_of(machine, kernel):
    return KERNELS / f"attune_{kernel}-{FEATURES[machine]}-user_context-large_buffers-no_runtime.o"


def tuned_for(machine):
    return json.loads((TUNED / f"{machine}.json").read_text())


def count(mnemonic, loop):
    """How many instructions of a loop have a mnemonic that begins so, a regular expression."""
    return sum(re.fullmatch(mnemonic + ".*", found) is not None for _, found, _ in loop)


def asks(loop):
    """Whether a loop asks for memory ahead."""
    return any(mnemonic.startswith("prefetch") for _, mnemonic, _ in loop)


def main():
    unittest.main(argv=[sys.argv[0]] + sys.argv[OPTIONS + 1:])
