"""What may run on which CPU: the classes' kernels, and all that the ARCHIVEs hold for plain x86-64."""
import pathlib
import re
import subprocess
import tempfile
import unittest

from kernels import AR, ARCHIVES, CODE, KERNELS, main

# What AMD has and Intel hasn't, and the other way round: SSE4A, AMX, half precision.
OF_ONE_MAKER = re.compile(r"extrq|insertq|movnts[sd]|clzero|mwaitx|tdp|tile|v(?!cvtps2).*ph$|vmovw")
# VEX and EVEX mnemonics, and those of SSE3 to SSE4.2 and POPCNT that a compiler would choose.
BEYOND_SSE2 = re.compile(
    r"v|p?blendv?|pblendw|dpps|h(add|sub)p[sd]|addsubp|movddup|movs[hl]dup|lddqu|ph(add|sub)|pshufb|palignr|pabs|psign|pmulhrsw|pmaddubsw"
    r"|round[ps][sd]|insertps|extractps|p(insr|extr)[bdq]|pmov[sz]x|pmul(ld|dq)|p(min|max)(s[bd]|u[wd])|packusdw|ptest|pcmp(eqq|gtq|[ei]str)"
    r"|popcnt|lzcnt|andn[lq]?$|bextr|mulx|(sar|shl|shr|ror)x")
WIDE_REGISTER = re.compile(r"%[yz]mm|%k[0-7]")


class Pairs(unittest.TestCase):
    """Halide's target for Zen 4 lets the compiler use what AMD alone has, and the class is Sapphire Rapids' too."""

    def test_hold_no_instruction_of_one_maker(self):
        objects = sorted(KERNELS.glob("*-avx512_zen4-*.o"))
        self.assertGreater(len(objects), 2)
        for path in objects:
            with self.subTest(path.name):
                self.assertEqual(CODE.offences(path, OF_ONE_MAKER), [])


class Baseline(unittest.TestCase):
    """Everything in the archives that a plain x86-64 runs: kernels of that class, wrappers, and the runtime."""

    def test_runs_on_any_x86_64(self):
        for archive in ARCHIVES:
            members = subprocess.run([AR, "t", archive], check=True, capture_output=True, text=True).stdout.split()
            plain = [name for name in members if name.endswith(".o") and "-sse41" not in name and "_avx512." not in name]
            self.assertGreater(len(plain), 0)
            for name in sorted(set(plain)):
                for which in range(1, plain.count(name) + 1):  # two folders may have files of one name
                    with self.subTest(archive=archive.name, member=name), tempfile.TemporaryDirectory() as folder:
                        subprocess.run([AR, "xN", str(which), archive, name], check=True, cwd=folder)
                        self.assertEqual(CODE.offences(pathlib.Path(folder) / name, BEYOND_SSE2, WIDE_REGISTER), [])


if __name__ == "__main__":
    main()
