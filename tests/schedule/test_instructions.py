"""The machine code of the prebuilt kernels: test_instructions.py OBJDUMP AR KERNELS_FOLDER TUNED_FOLDER ARCHIVE... [-- unittest's options].

The two products of flash attention must be loops of multiply-adds whose accumulators stay in registers, and what the ARCHIVEs hold for
plain x86-64 must run on any x86-64."""
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from machine_code import Disassembler, touches_stack_with_vectors

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
# What AMD has and Intel hasn't, and the other way round: SSE4A, AMX, half precision.
OF_ONE_MAKER = re.compile(r"extrq|insertq|movnts[sd]|clzero|mwaitx|tdp|tile|v(?!cvtps2).*ph$|vmovw")
# VEX and EVEX mnemonics, and those of SSE3 to SSE4.2 and POPCNT that a compiler would choose.
BEYOND_SSE2 = re.compile(
    r"v|p?blendv?|pblendw|dpps|h(add|sub)p[sd]|addsubp|movddup|movs[hl]dup|lddqu|ph(add|sub)|pshufb|palignr|pabs|psign|pmulhrsw|pmaddubsw"
    r"|round[ps][sd]|insertps|extractps|p(insr|extr)[bdq]|pmov[sz]x|pmul(ld|dq)|p(min|max)(s[bd]|u[wd])|packusdw|ptest|pcmp(eqq|gtq|[ei]str)"
    r"|popcnt|lzcnt|andn[lq]?$|bextr|mulx|(sar|shl|shr|ror)x")
WIDE_REGISTER = re.compile(r"%[yz]mm|%k[0-7]")


def object_of(machine, kernel):
    return KERNELS / f"attune_{kernel}-{FEATURES[machine]}-user_context-large_buffers-no_runtime.o"


class Products(unittest.TestCase):
    """Both products of a tile: the scores, a panel of keys at a time, and the output, a step of channels at a time."""

    def loops_of_products(self, machine, dtype, multiply_add, kernel):
        path = object_of(machine, f"attention_flash_{dtype}{kernel}")
        tiles = json.loads((TUNED / f"{machine}.json").read_text())["flash"]
        tiles = tiles.get("head_dim " + kernel.removeprefix("_d"), tiles["any"])
        vectors = tiles["rows_per_tile"] // FLOAT_LANES[machine]
        loops = [loop for loop in CODE.innermost_loops(path)
                 if self.count(multiply_add, loop) >= vectors * min(tiles["keys_per_panel"], tiles["value_step"])]
        return loops, {vectors * tiles["keys_per_panel"], vectors * tiles["value_step"]}

    @staticmethod
    def count(multiply_add, loop):
        return sum(re.fullmatch(multiply_add + ".*", mnemonic) is not None for _, mnemonic, _ in loop)

    def test_are_loops_of_multiply_adds_in_registers(self):
        for machine, dtype, multiply_add in PRODUCTS:
            for kernel in ("", "_d64", "_d128"):
                with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                    loops, widths = self.loops_of_products(machine, dtype, multiply_add, kernel)
                    plain = [loop for loop in loops if not any(map(touches_stack_with_vectors, loop))]
                    for width in widths:
                        self.assertTrue(any(self.count(multiply_add, loop) % width == 0 for loop in plain),
                                        f"no loop of a multiple of {width} multiply-adds without spills")

    def test_of_scores_touch_no_stack(self):
        """What stages beside them multiply by is held in registers through all loops if it is one number: one too many, and a sum of these is
        stored in each pass."""
        for machine, dtype, multiply_add in PRODUCTS:
            for kernel in ("", "_d64", "_d128"):
                with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                    loops, _ = self.loops_of_products(machine, dtype, multiply_add, kernel)
                    scores = [loop for loop in loops if any(mnemonic.startswith("prefetch") for _, mnemonic, _ in loop)]
                    self.assertGreaterEqual(len(scores), 1)
                    self.assertFalse([instruction for loop in scores for instruction in loop if touches_stack_with_vectors(instruction)])

    def test_leave_their_sums_in_registers(self):
        """Where Halide gives sums the memory of another array, they are stored after each loop, and read again. (With AVX2 those of dropped
        keys, whose weights are multiplied first, may go by way of the stack.)"""
        stored = re.compile(r"%[yz]mm\d+,.*\(%rsp")
        for machine, dtype, multiply_add in PRODUCTS:
            for kernel in ("", "_d64", "_d128"):
                with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                    loops, widths = self.loops_of_products(machine, dtype, multiply_add, kernel)
                    path, width = object_of(machine, f"attention_flash_{dtype}{kernel}"), min(widths)
                    drops = lambda loop: machine == "x86-64-avx2" and any(mnemonic == "vmulps" for _, mnemonic, _ in loop)
                    followed = [following for loop, following in CODE.loops_and_what_follows(path) if loop in loops and not drops(loop)]
                    self.assertGreater(len(followed), 0)
                    for following in followed:
                        stores = [operands for _, _, operands in following[:2 * width] if stored.match(operands)]
                        self.assertLess(len(stores), width)

    def test_do_nothing_else_in_vectors(self):
        for machine, dtype, multiply_add in PRODUCTS:
            for kernel in ("", "_d64", "_d128"):
                with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                    loops, _ = self.loops_of_products(machine, dtype, multiply_add, kernel)
                    clean = [loop for loop in loops if not any(
                        re.match(rf"v(?!{multiply_add[1:]}|mov|broadcast)", mnemonic) for _, mnemonic, _ in loop)]
                    self.assertGreaterEqual(len(clean), 2, [len(loop) for loop in loops])


class Tiles(unittest.TestCase):
    """With AMX both products are of tiles: four sums of 16 x 16 that stay in registers, and as many operands as products."""

    def test_load_operands_and_store_sums_once(self):
        for kernel, steps in ("", 1), ("_d64", 2), ("_d128", 4):  # of 32 channels; any width is a loop
            with self.subTest(kernel=kernel):
                path = object_of("x86-64-avx512_amx", f"attention_flash_bf16{kernel}")
                found = CODE.mnemonics_of(path)
                products = 4 + 4 * steps  # of the output and of scores
                count = {mnemonic: found.count(mnemonic) for mnemonic in ("tdpbf16ps", "tileloadd", "tilezero", "tilestored")}
                self.assertEqual(count, {"tdpbf16ps": products, "tileloadd": products, "tilezero": 8, "tilestored": 8})
                loops = [[mnemonic for _, mnemonic, _ in loop] for loop in CODE.innermost_loops(path)]
                loops = [loop for loop in loops if "tdpbf16ps" in loop]
                self.assertGreaterEqual(len(loops), 1)  # those of scores may lie in a loop with others
                for loop in loops:
                    self.assertEqual(loop.count("tdpbf16ps"), 4)
                    self.assertFalse([mnemonic for mnemonic in loop if re.match(r"v|tilezero|tilestored|ldtilecfg", mnemonic)])

    def test_are_followed_by_the_maxima_of_the_scores_they_made(self):
        vectors = 2 * 32  # of rows, and keys, of a panel
        for kernel in ("", "_d64", "_d128"):
            with self.subTest(kernel=kernel):
                found = CODE.mnemonics_of(object_of("x86-64-avx512_amx", f"attention_flash_bf16{kernel}"))
                stores = [i for i, mnemonic in enumerate(found) if mnemonic == "tilestored"]
                self.assertGreaterEqual(max(found[i:i + 2 * vectors].count("vmaxps") for i in stores), vectors)


class TilesOfNumbersInParts(unittest.TestCase):
    """Several products of parts take the place of one, of which each keeps one factor of the one before: of f32 seven operands for six products,
    of f16 five for four. No tile is copied by way of memory."""

    def test_load_one_factor_a_product_and_store_sums_once(self):
        for kernel, of_parts, steps in (("bf16x3_f32", 6, 1), ("bf16x3_f32_d64", 6, 2), ("bf16x3_f32_d128", 6, 4), ("bf16x2_f16", 4, 1)):
            with self.subTest(kernel=kernel):  # steps of 32 channels; any width is a loop
                found = CODE.mnemonics_of(object_of("x86-64-avx512_amx", f"attention_flash_{kernel}"))
                products = 1 + steps  # of the output and of scores
                count = {mnemonic: found.count(mnemonic) for mnemonic in ("tdpbf16ps", "tileloadd", "tilezero", "tilestored")}
                self.assertEqual(count, {"tdpbf16ps": of_parts * 4 * products, "tileloadd": (of_parts + 1) * 2 * products,
                                         "tilezero": 8, "tilestored": 8})

    def test_weights_are_worked_out_once_for_all_parts(self):
        for kernel in ("", "_d64", "_d128"):
            with self.subTest(kernel=kernel):
                loops = CODE.innermost_loops(object_of("x86-64-avx512_amx", f"attention_flash_bf16x3_f32{kernel}"))
                exponentials = [loop for loop in loops if sum(mnemonic == "vfmadd213ps" for _, mnemonic, _ in loop) >= 4 * 4]
                self.assertGreaterEqual(len(exponentials), 1)
                for loop in exponentials:  # four vectors' polynomials of degree five, or four where that is all
                    self.assertLessEqual(sum(mnemonic.startswith("vfmadd") for _, mnemonic, _ in loop), 4 * 6)


class TilesOfDecoding(unittest.TestCase):
    """With AMX, where many rows read a key: scores of copied keys and of those in place, the output's four sums, and those of values that
    aren't finite stay in registers; the latter two take their operands once. Code for fewer rows sets no tiles up."""

    SUMS = 1 + 1 + 4 + 1

    def test_stay_in_registers(self):
        for kernel, steps in ("", 1), ("_d64", 2), ("_d128", 4):  # of 32 channels; any width is a loop
            with self.subTest(kernel=kernel):
                found = CODE.mnemonics_of(object_of("x86-64-avx512_amx", f"attention_decode_bf16{kernel}"))
                self.assertEqual(found.count("tdpbf16ps"), 5 + 2 * steps)
                self.assertEqual(found.count("tileloadd"), 5 + 2 + 2 * 2 * steps)
                if kernel:  # else the loop over channels may not run, and zeros are stored by other code
                    self.assertEqual(found.count("tilezero"), self.SUMS)
                    self.assertEqual(found.count("tilestored"), self.SUMS)

    def test_of_int8_have_no_keys_in_place(self):
        found = CODE.mnemonics_of(object_of("x86-64-avx512_amx", "attention_decode_bf16_i8kv"))
        self.assertEqual((found.count("tdpbf16ps"), found.count("tileloadd")), (5 + 1, 5 + 2 + 2))

    def test_are_set_up_by_their_own_code_alone(self):
        for kernel in ("", "_d64", "_d128", "_i8kv"):
            with self.subTest(kernel=kernel):
                path = object_of("x86-64-avx512_amx", f"attention_decode_bf16{kernel}")
                with_tiles = [name for name, mnemonics in CODE.mnemonics_by_function(path).items() if "ldtilecfg" in mnemonics]
                self.assertEqual(len(with_tiles), 1, with_tiles)


class MemoryAhead(unittest.TestCase):
    """Flash attention asks for what is read later, among its multiply-adds: for two lines, of keys and of values, into the second-level
    cache, and where keys may be read in place for one of the next panel into the first. With AVX2, whose panels are narrower, in passes of
    several channels, so that each asks for lines of its own."""

    CHANNELS = {("x86-64-avx2", ""): 2, ("x86-64-avx2", "_d64"): 4, ("x86-64-avx2", "_d128"): 4} # of a pass

    def test_is_asked_for(self):
        for machine, dtype, multiply_add in PRODUCTS:
            for kernel in ("", "_d64", "_d128"):
                with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                    path = object_of(machine, f"attention_flash_{dtype}{kernel}")
                    self.assertGreaterEqual(CODE.disassembly(path).count("prefetcht1"), 3) # lines of q, k and v
                    keys_in_place = dtype == "f32" or machine == "x86-64-avx512_bf16" and kernel
                    asking, sums = 0, 24 if FLOAT_LANES[machine] == 16 else 12 # of a panel and a tile
                    for loop in CODE.innermost_loops(path):
                        found = [mnemonic for _, mnemonic, _ in loop]
                        products = sum(bool(re.fullmatch(multiply_add + ".*", mnemonic)) for mnemonic in found)
                        if products == 0 or not any(mnemonic.startswith("prefetch") for mnemonic in found):
                            continue
                        asking += products == sums * self.CHANNELS.get((machine, kernel), 1)
                        self.assertEqual((found.count("prefetcht1"), found.count("prefetcht0")), (2, int(bool(keys_in_place))))
                    self.assertGreater(asking, 0)


class Decoding(unittest.TestCase):
    """Keys and values are read once, where the caller has them, and what comes next is asked for."""

    @staticmethod
    def asks(loop):
        return any(mnemonic.startswith("prefetch") for _, mnemonic, _ in loop)

    def test_reads_ahead_and_finds_pages_without_division(self):
        for machine, dtype, multiply_add in PRODUCTS:
            for kernel in ("_d64", "_d128"):
                with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                    loops = list(filter(self.asks, CODE.innermost_loops(object_of(machine, f"attention_decode_{dtype}{kernel}"))))
                    self.assertGreater(len(loops), 0)
                    for loop in loops:
                        self.assertTrue(any(re.fullmatch(multiply_add + ".*", mnemonic) for _, mnemonic, _ in loop))
                        self.assertFalse([mnemonic for _, mnemonic, _ in loop if re.match(r"i?div|vp?gather|vdiv", mnemonic)])

    def test_asks_into_the_cache_that_a_cpu_wants(self):
        for machine, dtype, multiply_add in PRODUCTS + [("x86-64-avx512_zen5", "f32", FMA), ("x86-64-avx512_zen5", "bf16", "vdpbf16ps")]:
            tuned = json.loads((TUNED / f"{machine}.json").read_text())["decode"]
            kind = "pairs" if multiply_add == "vdpbf16ps" else dtype
            for kernel in ("_d64", "_d128"):
                with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                    own = {**tuned.get(kind, {}), **tuned.get(f"{kind} head_dim {kernel[2:]}", {})}
                    level = {**tuned["any"], **own}["level_ahead"]
                    found = CODE.disassembly(object_of(machine, f"attention_decode_{dtype}{kernel}"))
                    self.assertEqual(set(re.findall(r"prefetch\w+", found)), {f"prefetcht{level - 1}"})

    def test_finds_a_panel_before_its_loops(self):
        """Where the streams take turns, the keys of a panel that is read whole lie at a constant distance: the loop of the values of
        several rows neither looks up where one is nor multiplies to find it. (What it asks for may lie in another panel.)"""
        for machine, dtype, multiply_add in [("x86-64-avx512_bf16", "f32", FMA), ("x86-64-avx512_bf16", "bf16", "vdpbf16ps"),
                                             ("x86-64-avx512_zen5", "f32", FMA), ("x86-64-avx512_zen5", "bf16", "vdpbf16ps")]:
            for kernel in ("_d64", "_d128"):
                with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                    loops = [loop for loop in CODE.innermost_loops(object_of(machine, f"attention_decode_{dtype}{kernel}"))
                             if Products.count(multiply_add, loop) >= 16]
                    values = [loop for loop in loops if self.asks(loop) and any(mnemonic == "vbroadcastss" for _, mnemonic, _ in loop)]
                    self.assertGreater(len(values), 0)
                    self.assertTrue(any(not self.addresses_found_within(loop) for loop in values))

    @staticmethod
    def addresses_found_within(loop):
        """The registers of the addresses of vectors that a loop loads, which it also multiplies, extends, chooses or loads."""
        used = {register for _, mnemonic, operands in loop if mnemonic.startswith("vmov") and re.search(r"\), *%zmm", operands)
                for register in re.findall(r"%r(\w+)", operands)}
        found = {re.search(r"%[re]?(\w+)$", operands)[1] for _, mnemonic, operands in loop
                 if re.match(r"imul|movs|movz|cmov", mnemonic) or mnemonic == "mov" and "(" in operands and operands[-1] != ")"}
        return used & found

    def test_keeps_sums_of_values_in_registers_at_any_width(self):
        """No loop that reads keys or values stores a vector: where rows lie so far apart as isn't known, sums in memory would be loaded and
        stored beside each multiply-add. Half of the registers hold sums: of four rows and four vectors, or with AVX2 two; with AVX-512 up
        to 24. Of seven or eight vectors there are 28 or 32, of which a few go by the stack, for reading a value twice takes longer."""
        for machine, dtype, multiply_add in [kernel for kernel in PRODUCTS if kernel[:2] != ("x86-64-avx2", "bf16")] + [
                ("x86-64-avx512_bf16", "f32", FMA), ("x86-64-avx512_bf16", "f16", FMA)]:
            with self.subTest(machine=machine, dtype=dtype):
                loops = list(filter(self.asks, CODE.innermost_loops(object_of(machine, f"attention_decode_{dtype}"))))
                for loop in loops:
                    sums = Products.count(multiply_add, loop)
                    self.assertLessEqual(len(self.stored(loop)), sums // 3 if sums > 24 else 0)
                self.assertTrue(any(Products.count(multiply_add, loop) == FLOAT_LANES[machine] for loop in loops))

    @staticmethod
    def stored(loop):
        return [operands for _, _, operands in loop if re.match(r"%[yz]mm\d+,.*\(", operands)]

    def stored_as_results(self, loop):
        """Not to wait on the stack."""
        return [operands for operands in self.stored(loop) if "(%rsp" not in operands]

    def test_takes_a_value_of_each_stream_with_avx2(self):
        """All lines of four values, one of each stream, before the next ones: a loop over the four, of two vectors of each, 2 multiply-adds
        for a row alone and 8 for four rows, whose sums stay in registers. Nothing is multiplied to find a value."""
        for kernel in ("", "_d128"):
            loops = list(filter(self.asks, CODE.innermost_loops(object_of("x86-64-avx2", f"attention_decode_f32{kernel}"))))
            for rows in (1, 4):
                with self.subTest(kernel=kernel, rows=rows):
                    values = [loop for loop in loops if Products.count(FMA, loop) == 2 * rows]
                    self.assertGreater(len(values), 0)
                    for loop in values:
                        self.assertEqual(self.stored(loop), [])
                        self.assertFalse(any(map(touches_stack_with_vectors, loop)))
            self.assertFalse([loop for loop in loops if any(mnemonic == "imul" for _, mnemonic, _ in loop)])

    def test_takes_a_value_of_16_bits_of_each_stream_with_avx2(self):
        """The loop over the four is written out: what is left is one over their vectors, of 8 products for a row alone and 32 for four rows.
        Sums of four products stay in registers, and each is stored once, added to the output; the first is no sum with 0. Of bf16, two of
        the four values wait on the stack."""
        for dtype, kernel in (("bf16", ""), ("bf16", "_d128"), ("f16", "")):
            loops = list(filter(self.asks, CODE.innermost_loops(object_of("x86-64-avx2", f"attention_decode_{dtype}{kernel}"))))
            found = [(Products.count("vmulps", loop), Products.count(FMA, loop), loop) for loop in loops]
            for rows in (1, 4):
                with self.subTest(dtype=dtype, kernel=kernel, rows=rows):
                    sums = 2 * rows
                    values = [loop for first, others, loop in found if (first, others) == (sums, 3 * sums) and self.stored(loop)]
                    self.assertGreater(len(values), 0, [(first, others, len(self.stored(loop))) for first, others, loop in found])
                    for loop in values:
                        self.assertEqual(len(self.stored_as_results(loop)), sums)
                        self.assertLessEqual(len(self.stored(loop)) - sums, 2 if dtype == "bf16" else 0)
            self.assertFalse([loop for loop in loops if any(mnemonic == "imul" for _, mnemonic, _ in loop)])

    def test_multiplies_no_channel_with_a_scale(self):
        """Keys and values of int8 are converted and multiplied, once: scores and weights have their scales. (Where sums of few keys are stored,
        the first product of each is one by itself.)"""
        for machine in ("x86-64-avx512_bf16", "x86-64-avx512", "x86-64-avx2"):
            for dtype in ("f32", "bf16"):
                with self.subTest(machine=machine, dtype=dtype):
                    loops = filter(self.asks, CODE.innermost_loops(object_of(machine, f"attention_decode_{dtype}_i8kv")))
                    converting = [loop for loop in loops if {"vpmovsxbd", "vcvtdq2ps"} <= {mnemonic for _, mnemonic, _ in loop}]
                    self.assertGreaterEqual(len(converting), 2)  # of scores and of values
                    for loop in converting:
                        self.assertLessEqual(Products.count("vmulps", loop), len(self.stored_as_results(loop)))

    def test_loads_what_fills_no_vector_at_once(self):
        """The channels past the last whole vector are a masked load, and nothing is gathered by element."""
        for machine, dtype in [("x86-64-avx512", "f32"), ("x86-64-avx512", "bf16"), ("x86-64-avx512_bf16", "bf16"), ("x86-64-avx512_bf16", "f16"),
                               ("x86-64-avx2", "f32")]:
            with self.subTest(machine=machine, dtype=dtype):
                loops = list(filter(self.asks, CODE.innermost_loops(object_of(machine, f"attention_decode_{dtype}"))))
                self.assertGreater(len(loops), 0)
                self.assertFalse([m for loop in loops for _, m, _ in loop if re.match(r"v?p?insr|vinsertps|vp?gather|vfn?madd\d+ss", m)])

    def test_asks_once_for_a_line(self):
        # A loop of pairs of values reads a line of each of two keys with each load, and asks for as many.
        for kernel in ("_d64", "_d128"):
            values = [[mnemonic for _, mnemonic, _ in loop]
                      for loop in CODE.innermost_loops(object_of("x86-64-avx512_bf16", f"attention_decode_bf16{kernel}"))]
            values = [loop for loop in values if "vpunpcklwd" in loop and any(m.startswith("prefetch") for m in loop)]
            self.assertGreater(len(values), 0, kernel)
            for loop in values:
                pairs = loop.count("vpunpcklwd") + loop.count("vpunpckhwd")
                self.assertEqual(sum(m.startswith("prefetch") for m in loop), pairs, kernel)

    def test_pairs_values_beside_the_products(self):
        """By shuffles within 128 bits, which Zen 4 has units for that multiply nothing; those of two registers take turns with products."""
        for machine in ("x86-64-avx512_bf16", "x86-64-avx512_zen5"):
            for kernel in ("_d64", "_d128"):
                with self.subTest(machine=machine, kernel=kernel):
                    loops = [[mnemonic for _, mnemonic, _ in loop]
                             for loop in CODE.innermost_loops(object_of(machine, f"attention_decode_bf16{kernel}"))]
                    loops = [loop for loop in loops if "vdpbf16ps" in loop]
                    self.assertTrue(any("vpunpcklwd" in loop and "vpunpckhwd" in loop for loop in loops))
                    self.assertFalse([loop for loop in loops if "vpermt2w" in loop or "vpermi2w" in loop])

    def test_shares_vectors_among_rows_of_short_keys(self):
        """Half a vector of a key at a time, repeated for two rows, four keys of which are multiplied with four rows in registers."""
        for machine, dtype, kernel, multiply_add in [("x86-64-avx512_bf16", "bf16", "_d64", "vdpbf16ps"),
                                                     ("x86-64-avx512_bf16", "bf16", "_d128", "vdpbf16ps"),
                                                     ("x86-64-avx512_bf16", "f32", "_d64", FMA), ("x86-64-avx2", "f32", "_d64", FMA),
                                                     ("x86-64-avx2", "f32", "_d128", FMA)]:
            with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                counts = []
                for loop in CODE.innermost_loops(object_of(machine, f"attention_decode_{dtype}{kernel}")):
                    multiplied = Products.count(multiply_add, loop)
                    repeated = sum(mnemonic.startswith("vbroadcast") and "(" in operands for _, mnemonic, operands in loop)
                    spilt = any(map(touches_stack_with_vectors, loop))
                    counts.append((multiplied, repeated, spilt))
                self.assertTrue(any(multiplied >= 16 and multiplied == 2 * repeated and not spilt for multiplied, repeated, spilt in counts),
                                f"multiply-adds, broadcasts and spills of loops: {counts}")

    def test_makes_two_numbers_of_each_word(self):
        """Where numbers of bf16 are multiplied as f32, a word of two neighbours is loaded, of which a shift makes one and what zeros its
        lower half the other: nothing is widened."""
        for machine in ("x86-64-avx512", "x86-64-avx2"):
            for kernel in ("_d64", "_d128"):
                with self.subTest(machine=machine, kernel=kernel):
                    loops = list(filter(self.asks, CODE.innermost_loops(object_of(machine, f"attention_decode_bf16{kernel}"))))
                    self.assertGreater(len(loops), 0)
                    for loop in loops:
                        self.assertEqual(Products.count("vpmovzxwd", loop), 0)
                        self.assertEqual(Products.count("vpslld", loop),
                                         sum(Products.count(zeroed, loop) for zeroed in ("vpandd", "vpandq", "vpblendw")))

    def test_multiplies_pairs_where_a_cpu_does(self):
        for kernel in ("", "_d64", "_d128"):
            found = CODE.disassembly(object_of("x86-64-avx512_bf16", f"attention_decode_bf16{kernel}"))
            # Both products, for one row and for four: the loops of the values have a sum for each row and vector of the output.
            self.assertGreaterEqual(found.count("vdpbf16ps"), 2 * 4 + (1 + 4) * 4, kernel)


class LinearLayers(unittest.TestCase):
    """Weights are asked for ahead, a line of each panel that is read at a time, into the cache that a CPU wants."""

    def test_ask_for_every_panel_into_the_cache_that_a_cpu_wants(self):
        pairs = ("x86-64-avx512_zen5", "x86-64-avx512_bf16")
        machines = [machine for machine in FEATURES if machine != "x86-64-avx512_amx"]
        kernels = [("row", machine, dtype) for machine in machines for dtype in ("f32", "bf16")]
        kernels += [("eight_rows", machine, dtype) for machine in machines for dtype in ("f32", "bf16")]
        kernels += [(schedule, machine, "bf16") for schedule in ("rows", "tiles") for machine in machines]
        for schedule, machine, dtype in kernels:
            with self.subTest(schedule=schedule, machine=machine, dtype=dtype):
                tuned = json.loads((TUNED / f"{machine}.json").read_text())[f"linear_{schedule}"]
                tuned = tuned.get("pairs" if dtype == "bf16" and machine in pairs else "any", tuned["any"])
                path = object_of(machine, f"linear_{schedule}_{dtype}")
                self.assertEqual(set(re.findall(r"prefetch\w+", CODE.disassembly(path))), {f"prefetcht{tuned['level_ahead'] - 1}"})
                asked = [sum(mnemonic.startswith("prefetch") for _, mnemonic, _ in loop) for loop in CODE.innermost_loops(path)]
                self.assertGreaterEqual(max(asked), tuned["panels"])


class Streams(unittest.TestCase):
    """Outputs that no cache would hold: kernels send them through the runtime, which has the instructions, and fences them."""

    KERNELS = ["softmax_vectorized_f32", "log_softmax_vectorized_f32", "softmax_vectorized_bf16", "log_softmax_vectorized_f16", "rotary_half_vectorized_f32", "rotary_half_vectorized_bf16",
               "rotary_half_vectorized_f16", "rotary_interleaved_vectorized_f32", "rotary_interleaved_vectorized_bf16",
               "rotary_interleaved_vectorized_f16", "layer_norm_vectorized_f32", "rms_norm_vectorized_f32", "rms_norm_vectorized_bf16"]

    def test_are_called_and_fenced(self):
        targets = {"x86-64-avx512": "attune_stream_avx512", "x86-64-avx2": "attune_stream", "x86-64": "attune_stream"}
        for machine, function in targets.items():
            for kernel in self.KERNELS:
                with self.subTest(machine=machine, kernel=kernel):
                    found = CODE.disassembly(object_of(machine, kernel), "-r")
                    calls = set(re.findall(r"R_X86_64_PLT32\t(attune_(?:stream|least_streamed|pipelines)\w*)", found))
                    asks = {"attune_streamed_bytes_ahead"} if "norm" in kernel else set() # rows that are read twice
                    pipelines = {"attune_pipelines_rows"} if machine != "x86-64" and "rotary" not in kernel else set()
                    turns = {"attune_streamed_heads_in_turn", "attune_streamed_parts_ahead"} if "rotary" in kernel else set()
                    halves = {"attune_stream_halves_avx512"} if machine == "x86-64-avx512" and "norm" in kernel else set()
                    always = {function, "attune_stream_begin", "attune_stream_end", "attune_least_streamed_bytes"}
                    self.assertEqual(calls, always | asks | pipelines | turns | halves)

    def test_of_softmax_read_weigh_and_write_in_one_loop(self):
        """Maxima of the next row, exponentials of this and stores of the row before: short rows in turn, and longer ones' steps."""
        for kernel, dtype in itertools.product(("softmax", "log_softmax"), ("f32", "bf16", "f16")):
            with self.subTest(kernel=kernel, dtype=dtype):
                path = object_of("x86-64-avx512", f"{kernel}_vectorized_{dtype}")
                loops = [{mnemonic for _, mnemonic, _ in loop} for loop in CODE.loops_around_calls(path, "attune_stream_avx512")]
                self.assertGreaterEqual(len([loop for loop in loops if {"vmaxps", "vfmadd213ps", "prefetcht1"} <= loop]), 2)

    def test_of_softmax_ask_for_the_next_rows(self):
        """Into the second level of the caches, or the first where rows come from a cache: beside exponentials, which leave the time for it."""
        for machine, kernel in itertools.product(("x86-64-avx512", "x86-64-avx2"), ("softmax_vectorized_f32", "softmax_vectorized_bf16")):
            with self.subTest(machine=machine, kernel=kernel):
                loops = [{mnemonic for _, mnemonic, _ in loop} for loop in CODE.innermost_loops(object_of(machine, kernel))]
                for request in ("prefetcht0", "prefetcht1"):
                    self.assertTrue([loop for loop in loops if {request, "vfmadd213ps"} <= loop], request)

    def test_of_norms_read_and_write_in_one_loop(self):
        """Squares of the next row and stores of this one; of layer norm the next row's sum, squares of this and stores of the row before."""
        of_sums_alone = {"rms_norm": "vfmadd", "layer_norm": "vaddps"} # instructions that none needs to write a row
        for (kernel, summed), dtype in itertools.product(of_sums_alone.items(), ("f32", "bf16")):
            with self.subTest(kernel=kernel, dtype=dtype):
                path = object_of("x86-64-avx512", f"{kernel}_vectorized_{dtype}")
                loops = CODE.loops_around_calls(path, "attune_stream_halves_avx512")
                self.assertTrue([loop for loop in loops if any(mnemonic.startswith(summed) for _, mnemonic, _ in loop)])

    def test_go_past_the_caches(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([AR, "x", ARCHIVES[0], "stream.cpp.o", "stream_avx512.cpp.o"], check=True, cwd=folder)
            baseline, avx512 = (CODE.disassembly(pathlib.Path(folder) / name) for name in ("stream.cpp.o", "stream_avx512.cpp.o"))
        self.assertGreaterEqual(len(re.findall(r"\bmovntdq +%xmm", baseline)), 4)
        self.assertIn("sfence", baseline)
        self.assertRegex(avx512, r"vmovntdq +%zmm")


class Rounding(unittest.TestCase):
    """To bf16 by the instruction for it, 32 numbers at once, where there is one: by integer operations it takes nine for half as many."""

    def assert_takes_one_instruction(self, machine, kernel):
        with self.subTest(machine=machine, kernel=kernel):
            loops = [[mnemonic for _, mnemonic, _ in loop] for loop in CODE.innermost_loops(object_of(machine, kernel))]
            rounding = [loop for loop in loops if "vcvtne2ps2bf16" in loop]
            self.assertGreater(len(rounding), 0)
            for loop in rounding:
                self.assertFalse([mnemonic for mnemonic in loop if mnemonic.startswith(("vpsrld", "vpmovdw"))])
                self.assertEqual(loop.count("vpaddd"), loop.count("vpcmpled"), "additions that make no mask of a row's end")

    def test_takes_one_instruction(self):
        for machine in ("x86-64-avx512_bf16", "x86-64-avx512_amx"):
            for kernel in ("softmax", "log_softmax", "rotary_half", "rotary_interleaved", "layer_norm", "rms_norm"):
                self.assert_takes_one_instruction(machine, f"{kernel}_vectorized_bf16")
            for width in ("", "_d64", "_d128"):
                self.assert_takes_one_instruction(machine, f"attention_flash_bf16{width}")


class Dropout(unittest.TestCase):
    # Ten rounds of two products, which take two instructions each; of some that are the same for all rows, one number is multiplied.
    MOST_PRODUCTS = 40

    def test_makes_the_words_of_a_counter_once_for_its_keys(self):
        for machine, kernel in [("x86-64-avx512", "attention_flash_f32_d64"), ("x86-64-avx2", "attention_flash_f32_d64"),
                                ("x86-64-avx512_amx", "attention_flash_bf16_d64")]:
            with self.subTest(machine=machine):
                loops = [[mnemonic for _, mnemonic, _ in loop].count("vpmuludq") for loop in CODE.innermost_loops(object_of(machine, kernel))]
                products = [count for count in loops if count >= 8]
                self.assertEqual(len(products), 1, "loops that make words")
                self.assertLessEqual(products[0], self.MOST_PRODUCTS)


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
    unittest.main(argv=[sys.argv[0]] + sys.argv[OPTIONS + 1:])
