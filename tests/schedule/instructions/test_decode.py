"""Decoding: sums in registers, keys and values read once and asked for ahead."""
import re
import unittest

from kernels import CODE, FLOAT_LANES, FMA, PRODUCTS, asks, count, main, object_of, tuned_for
from machine_code import touches_stack_with_vectors


def streams_of(machine, dtype, kernel):
    """What schedules/tuned has for a kernel of a width."""
    tuned = tuned_for(machine)["decode"]
    kind = "pairs" if dtype == "bf16" and machine in ("x86-64-avx512_bf16", "x86-64-avx512_zen5") else dtype
    return {**tuned["any"], **tuned.get(kind, {}), **tuned.get(f"{kind} head_dim {kernel.removeprefix('_d')}", {})}


class Decoding(unittest.TestCase):
    """Keys and values are read once, where the caller has them, and what comes next is asked for."""

    def test_reads_ahead_and_finds_pages_without_division(self):
        for machine, dtype, multiply_add in PRODUCTS:
            for kernel in ("_d64", "_d128"):
                with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                    loops = list(filter(asks, CODE.innermost_loops(object_of(machine, f"attention_decode_{dtype}{kernel}"))))
                    self.assertGreater(len(loops), 0)
                    for loop in loops:
                        self.assertGreater(count(multiply_add, loop), 0)
                        self.assertFalse([mnemonic for _, mnemonic, _ in loop if re.match(r"i?div|vp?gather|vdiv", mnemonic)])

    def test_asks_into_the_cache_that_a_cpu_wants(self):
        for machine, dtype, multiply_add in PRODUCTS + [("x86-64-avx512_zen5", "f32", FMA), ("x86-64-avx512_zen5", "bf16", "vdpbf16ps")]:
            for kernel in ("_d64", "_d128"):
                with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                    level = streams_of(machine, dtype, kernel)["level_ahead"]
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
                             if count(multiply_add, loop) >= 16]
                    values = [loop for loop in loops if asks(loop) and any(mnemonic == "vbroadcastss" for _, mnemonic, _ in loop)]
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
                loops = list(filter(asks, CODE.innermost_loops(object_of(machine, f"attention_decode_{dtype}"))))
                for loop in loops:
                    sums = count(multiply_add, loop)
                    self.assertLessEqual(len(self.stored(loop)), sums // 3 if sums > 24 else 0)
                self.assertTrue(any(count(multiply_add, loop) == FLOAT_LANES[machine] for loop in loops))

    def test_finds_a_value_once_at_any_width(self):
        """A row alone, whose pass has a product a vector: vectors lie at constants from the first, and so does what is asked for. Each at an
        address of its own, seven vectors took 14 instructions of addresses."""
        most_of_addresses = 10
        for dtype in ("f32", "f16"):
            with self.subTest(dtype=dtype):
                loops = filter(asks, CODE.innermost_loops(object_of("x86-64-avx512", f"attention_decode_{dtype}")))
                values = [loop for loop in loops if count("vbroadcastss", loop) == 1 and count(FMA, loop) in range(2, 9)]
                sums = {count(FMA, loop) for loop in values}
                self.assertEqual(sums, set(range(2, 9)))
                self.assertTrue(any("{z}" in operands for loop in values for _, _, operands in loop), "no pass ends with a masked load")
                for loop in values:
                    others = [mnemonic for _, mnemonic, _ in loop if not re.match(r"v|prefetch", mnemonic)]
                    self.assertLessEqual(len(others), most_of_addresses, others)

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
            loops = list(filter(asks, CODE.innermost_loops(object_of("x86-64-avx2", f"attention_decode_f32{kernel}"))))
            for rows in (1, 4):
                with self.subTest(kernel=kernel, rows=rows):
                    values = [loop for loop in loops if count(FMA, loop) == 2 * rows]
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
            loops = list(filter(asks, CODE.innermost_loops(object_of("x86-64-avx2", f"attention_decode_{dtype}{kernel}"))))
            found = [(count("vmulps", loop), count(FMA, loop), loop) for loop in loops]
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
            for dtype in ("f32", "f16", "bf16"):
                with self.subTest(machine=machine, dtype=dtype):
                    loops = filter(asks, CODE.innermost_loops(object_of(machine, f"attention_decode_{dtype}_i8kv")))
                    converting = [loop for loop in loops if {"vpmovsxbd", "vcvtdq2ps"} <= {mnemonic for _, mnemonic, _ in loop}]
                    self.assertGreaterEqual(len(converting), 2)  # of scores and of values
                    for loop in converting:
                        self.assertLessEqual(count("vmulps", loop), len(self.stored_as_results(loop)))

    def test_makes_numbers_of_int8_pairs_for_queries_of_bf16(self):
        """Beside pairs of vectors that are converted and put together by one permutation there are as many products for each row: two numbers
        at once, of two parts of a key, or of two keys' values."""
        for machine in ("x86-64-avx512_bf16", "x86-64-avx512_zen5"):
            with self.subTest(machine=machine):
                rows = {"keys": set(), "values": set()}
                for loop in filter(asks, CODE.innermost_loops(object_of(machine, "attention_decode_bf16_i8kv"))):
                    converted, products = count("vcvtdq2ps", loop), count("vdpbf16ps", loop)
                    if products == 0: continue
                    self.assertEqual(converted, 2 * count("vpermt2w", loop))
                    weights = any(mnemonic == "vbroadcastss" or "{1to16}" in operands for _, mnemonic, operands in loop)
                    rows["values" if weights else "keys"].add(products / (converted / 2))
                self.assertEqual(rows, {"keys": {1, 4}, "values": {1, 4}})

    def test_loads_what_fills_no_vector_at_once(self):
        """The channels past the last whole vector are a masked load, and nothing is gathered by element."""
        for machine, dtype in [("x86-64-avx512", "f32"), ("x86-64-avx512", "bf16"), ("x86-64-avx512_bf16", "bf16"), ("x86-64-avx512_bf16", "f16"),
                               ("x86-64-avx512", "f32_i8kv"), ("x86-64-avx512_bf16", "bf16_i8kv"), ("x86-64-avx512_bf16", "f16_i8kv"),
                               ("x86-64-avx2", "f32")]:
            with self.subTest(machine=machine, dtype=dtype):
                loops = list(filter(asks, CODE.innermost_loops(object_of(machine, f"attention_decode_{dtype}"))))
                self.assertGreater(len(loops), 0)
                self.assertFalse([m for loop in loops for _, m, _ in loop if re.match(r"v?p?insr|vinsertps|vp?gather|vfn?madd\d+ss", m)])
                masked = r"\{z\}" if "avx512" in machine else "vmaskmov"
                self.assertTrue(any(re.search(masked, mnemonic + operands) for loop in loops for _, mnemonic, operands in loop))

    def test_asks_for_a_line_at_each_distance(self):
        # A loop of pairs of values reads a line of each of two keys with each load, and asks for as many, once for each distance, or where a
        # row is alone once.
        for kernel in ("_d64", "_d128"):
            distances = len(streams_of("x86-64-avx512_bf16", "bf16", kernel)["value_bytes_ahead"])
            values = [[mnemonic for _, mnemonic, _ in loop]
                      for loop in CODE.innermost_loops(object_of("x86-64-avx512_bf16", f"attention_decode_bf16{kernel}"))]
            values = [loop for loop in values if "vpunpcklwd" in loop and any(m.startswith("prefetch") for m in loop)]
            self.assertGreater(len(values), 0, kernel)
            for loop in values:
                pairs = loop.count("vpunpcklwd") + loop.count("vpunpckhwd")
                times = distances if loop.count("vdpbf16ps") > pairs else 1
                self.assertEqual(sum(m.startswith("prefetch") for m in loop), times * pairs, kernel)

    ROWS_THAT_SHARE = [("x86-64-avx512_bf16", dtype, kernel, multiply_add) for dtype, multiply_add in (("bf16", "vdpbf16ps"), ("f32", FMA))
                       for kernel in ("_d64", "_d128")]

    def test_finds_keys_that_lie_side_by_side_from_one_register(self):
        """The parts of keys in turn, and what is asked for ahead, at constants from one register, and from one for each distance, or two
        where that is no multiple of a panel. Where keys may lie anywhere each takes registers of its own."""
        for machine, dtype, kernel, multiply_add in self.ROWS_THAT_SHARE:
            streams = streams_of(machine, dtype, kernel)
            keys, distances = streams["keys_at_once"], len(streams["bytes_ahead"])
            with self.subTest(dtype=dtype, kernel=kernel):
                found = []
                for loop in CODE.innermost_loops(object_of(machine, f"attention_decode_{dtype}{kernel}")):
                    read = [operands for _, mnemonic, operands in loop if re.match(r"vbroadcast[fi]64x4", mnemonic) and "(" in operands]
                    if not read or count(multiply_add, loop) != 2 * len(read): continue
                    asked = [operands for _, mnemonic, operands in loop if mnemonic.startswith("prefetch")]
                    first = lambda operands: re.search(r"\((%\w+)", operands)[1]
                    found.append((len(set(map(first, read))), len(set(map(first, asked)))))
                self.assertTrue(any(read == 1 and asked <= distances + 1 for read, asked in found), found)
                self.assertTrue(any(read == keys and asked >= 2 * keys for read, asked in found), found)

    def test_adds_up_lanes_after_the_products_of_a_panel(self):
        """Seven additions for four keys and four rows, in a loop that multiplies nothing but by the scale."""
        for machine, dtype, kernel, multiply_add in self.ROWS_THAT_SHARE:
            with self.subTest(dtype=dtype, kernel=kernel):
                loops = [loop for loop in CODE.innermost_loops(object_of(machine, f"attention_decode_{dtype}{kernel}"))
                         if count("vaddps", loop) == 7 and count("vshuff64x2", loop) == 8]
                self.assertGreater(len(loops), 0)
                for loop in loops:
                    self.assertEqual(count(multiply_add, loop), 0)

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
        """Half a vector of a key at a time, repeated for two rows, keys in turn of which are multiplied with four rows in registers."""
        for machine, dtype, kernel, multiply_add in [("x86-64-avx512_bf16", "bf16", "_d64", "vdpbf16ps"),
                                                     ("x86-64-avx512_bf16", "bf16", "_d128", "vdpbf16ps"),
                                                     ("x86-64-avx512_bf16", "f32", "_d64", FMA), ("x86-64-avx2", "f32", "_d64", FMA),
                                                     ("x86-64-avx2", "f32", "_d128", FMA)]:
            with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                counts = []
                for loop in CODE.innermost_loops(object_of(machine, f"attention_decode_{dtype}{kernel}")):
                    multiplied = count(multiply_add, loop)
                    repeated = sum(mnemonic.startswith("vbroadcast") and "(" in operands for _, mnemonic, operands in loop)
                    spilt = any(map(touches_stack_with_vectors, loop))
                    counts.append((multiplied, repeated, spilt))
                streams = streams_of(machine, dtype, kernel)
                least = 4 * streams.get("keys_at_once", streams["streams"])
                self.assertTrue(any(multiplied >= least and multiplied == 2 * repeated and not spilt for multiplied, repeated, spilt in counts),
                                f"multiply-adds, broadcasts and spills of loops: {counts}")

    def test_makes_two_numbers_of_each_word(self):
        """Where numbers of bf16 are multiplied as f32, a word of two neighbours is loaded, of which a shift makes one and what zeros its
        lower half the other: nothing is widened."""
        for machine in ("x86-64-avx512", "x86-64-avx2"):
            for kernel in ("_d64", "_d128"):
                with self.subTest(machine=machine, kernel=kernel):
                    loops = list(filter(asks, CODE.innermost_loops(object_of(machine, f"attention_decode_bf16{kernel}"))))
                    self.assertGreater(len(loops), 0)
                    for loop in loops:
                        self.assertEqual(count("vpmovzxwd", loop), 0)
                        self.assertEqual(count("vpslld", loop),
                                         sum(count(zeroed, loop) for zeroed in ("vpandd", "vpandq", "vpblendw")))

    def test_multiplies_pairs_where_a_cpu_does(self):
        for kernel in ("", "_d64", "_d128"):
            found = CODE.disassembly(object_of("x86-64-avx512_bf16", f"attention_decode_bf16{kernel}"))
            # Both products, for one row and for four: the loops of the values have a sum for each row and vector of the output.
            self.assertGreaterEqual(found.count("vdpbf16ps"), 2 * 4 + (1 + 4) * 4, kernel)


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


if __name__ == "__main__":
    main()
