"""Flash attention: its two products are loops of multiply-adds, or products of tiles, whose sums stay in registers."""
import re
import unittest

from kernels import CODE, FLOAT_LANES, PRODUCTS, asks, count, main, object_of, tuned_for
from machine_code import touches_stack_with_vectors

KERNELS = [(*product, kernel) for product in PRODUCTS for kernel in ("", "_d64", "_d128")] + [("x86-64-avx512_bf16", "bf16_i8kv", "vdpbf16ps", "")]


class Products(unittest.TestCase):
    """Both products of a tile: the scores, a panel of keys at a time, and the output, a step of channels at a time."""

    def loops_of_products(self, machine, dtype, multiply_add, kernel):
        path = object_of(machine, f"attention_flash_{dtype}{kernel}")
        tiles = tuned_for(machine)["flash"]
        tiles = tiles.get("head_dim " + kernel.removeprefix("_d"), tiles["any"])
        vectors = tiles["rows_per_tile"] // FLOAT_LANES[machine]
        loops = [loop for loop in CODE.innermost_loops(path)
                 if count(multiply_add, loop) >= vectors * min(tiles["keys_per_panel"], tiles["value_step"])]
        return loops, {vectors * tiles["keys_per_panel"], vectors * tiles["value_step"]}

    def test_are_loops_of_multiply_adds_in_registers(self):
        for machine, dtype, multiply_add, kernel in KERNELS:
            with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                loops, widths = self.loops_of_products(machine, dtype, multiply_add, kernel)
                plain = [loop for loop in loops if not any(map(touches_stack_with_vectors, loop))]
                for width in widths:
                    self.assertTrue(any(count(multiply_add, loop) % width == 0 for loop in plain),
                                    f"no loop of a multiple of {width} multiply-adds without spills")

    def test_of_scores_touch_no_stack(self):
        """What stages beside them multiply by is held in registers through all loops if it is one number: one too many, and a sum of these is
        stored in each pass."""
        for machine, dtype, multiply_add, kernel in KERNELS:
            with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                loops, _ = self.loops_of_products(machine, dtype, multiply_add, kernel)
                scores = list(filter(asks, loops))
                self.assertGreaterEqual(len(scores), 1)
                self.assertFalse([instruction for loop in scores for instruction in loop if touches_stack_with_vectors(instruction)])

    def test_leave_their_sums_in_registers(self):
        """Where Halide gives sums the memory of another array, they are stored after each loop, and read again. (With AVX2 those of dropped
        keys, whose weights are multiplied first, may go by way of the stack.)"""
        stored = re.compile(r"%[yz]mm\d+,.*\(%rsp")
        for machine, dtype, multiply_add, kernel in KERNELS:
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
        for machine, dtype, multiply_add, kernel in KERNELS:
            with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                loops, _ = self.loops_of_products(machine, dtype, multiply_add, kernel)
                clean = [loop for loop in loops if not any(
                    re.match(rf"v(?!{multiply_add[1:]}|mov|broadcast)", mnemonic) for _, mnemonic, _ in loop)]
                self.assertGreaterEqual(len(clean), 2, [len(loop) for loop in loops])


class Copies(unittest.TestCase):
    """Keys and values as pairs multiply them, whole vectors of a row at a time."""

    def test_of_int8_are_pairs_of_its_numbers(self):
        """Two vectors of bytes become one of pairs, put together by one permutation: keys without their scale, and values, two keys' at a time,
        with theirs."""
        scaled = {count("vmulps", loop)
                  for loop in CODE.innermost_loops(object_of("x86-64-avx512_bf16", "attention_flash_bf16_i8kv"))
                  if (count("vpmovsxbd", loop), count("vcvtdq2ps", loop), count("vpermt2w", loop)) == (2, 2, 1)}
        self.assertEqual(scaled, {0, 2})

    def test_load_what_fills_no_vector_at_once(self):
        """Of any width: no loop takes one channel after the other, and channels past the last are a masked load's."""
        for dtype, load in ("bf16", r"vpmovzxwd|vmovdqu16"), ("bf16_i8kv", r"vpmovsxbd|vmovdqu8"):
            with self.subTest(dtype=dtype):
                path = object_of("x86-64-avx512_bf16", f"attention_flash_{dtype}")
                singly = [loop for loop in CODE.innermost_loops(path)
                          if count("movs[bw]l|movz[bw]l", loop) >= 2 and any(re.match(r"%e\w+,[^%]*\(.*,4\)", ops) for _, _, ops in loop)]
                self.assertEqual(singly, [])
                self.assertTrue(re.search(rf"(?:{load}) .*\{{z\}}", CODE.disassembly(path)))


class Tiles(unittest.TestCase):
    """With AMX both products are of tiles: four sums of 16 x 16 that stay in registers, and as many operands as products."""

    def test_load_operands_and_store_sums_once(self):
        for kernel, steps in ("", 1), ("_d64", 2), ("_d128", 4), ("_i8kv", 1):  # of 32 channels; any width is a loop
            with self.subTest(kernel=kernel):
                path = object_of("x86-64-avx512_amx", f"attention_flash_bf16{kernel}")
                found = CODE.mnemonics_of(path)
                products = 4 + 4 * steps  # of the output and of scores
                counts = {mnemonic: found.count(mnemonic) for mnemonic in ("tdpbf16ps", "tileloadd", "tilezero", "tilestored")}
                self.assertEqual(counts, {"tdpbf16ps": products, "tileloadd": products, "tilezero": 8, "tilestored": 8})
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
                self.assertGreaterEqual(max(found[i:i + 3 * vectors].count("vmaxps") for i in stores), vectors) # each with a load


class WeightsAsWords(unittest.TestCase):
    """Weights of pairs are made two vectors at once, in numbers of 16 bits: for each vector a multiply-add, a maximum and a shift, for two of
    them eight operations more, and no permutation of two registers, which is several."""

    def test_are_made_by_seven_operations_a_vector(self):
        # One for all rows of a tile and, where they are more than a vector, one for its first rows alone; as many again for tiles of which
        # some row's exponents are wide.
        for machine, rows in ("x86-64-avx512_amx", 1), ("x86-64-avx512_bf16", 2):
            for kernel in ("", "_d64", "_d128", "_i8kv"):
                with self.subTest(machine=machine, kernel=kernel):
                    loops = [[mnemonic for _, mnemonic, _ in loop]
                             for loop in CODE.innermost_loops(object_of(machine, f"attention_flash_bf16{kernel}"))]
                    loops = [loop for loop in loops if "vpmulhuw" in loop]
                    self.assertEqual(len(loops), 2 * rows)
                    of_words = lambda loop: [mnemonic for mnemonic in loop if re.match(r"v(?!mov(aps|ups|dqa|dqu64))", mnemonic)]
                    plain = [loop for loop in loops if len(of_words(loop)) == 14 * loop.count("vpshldw")]
                    self.assertEqual(len(plain), rows, [(loop.count("vpshldw"), len(of_words(loop))) for loop in loops])
                    self.assertTrue(all("vpshldw" in loop for loop in plain)) # one for each two


class TilesOfNumbersInParts(unittest.TestCase):
    """Several products of parts take the place of one, of which each keeps one factor of the one before: of f32 seven operands for six products,
    of f16 five for four. No tile is copied by way of memory."""

    def test_load_one_factor_a_product_and_store_sums_once(self):
        for kernel, of_parts, steps in (("bf16x3_f32", 6, 1), ("bf16x3_f32_d64", 6, 2), ("bf16x3_f32_d128", 6, 4), ("bf16x2_f16", 4, 1)):
            with self.subTest(kernel=kernel):  # steps of 32 channels; any width is a loop
                found = CODE.mnemonics_of(object_of("x86-64-avx512_amx", f"attention_flash_{kernel}"))
                products = 1 + steps  # of the output and of scores
                counts = {mnemonic: found.count(mnemonic) for mnemonic in ("tdpbf16ps", "tileloadd", "tilezero", "tilestored")}
                self.assertEqual(counts, {"tdpbf16ps": of_parts * 4 * products, "tileloadd": (of_parts + 1) * 2 * products,
                                         "tilezero": 8, "tilestored": 8})

    def test_weights_are_worked_out_once_for_all_parts(self):
        for kernel in ("", "_d64", "_d128"):
            with self.subTest(kernel=kernel):
                loops = CODE.innermost_loops(object_of("x86-64-avx512_amx", f"attention_flash_bf16x3_f32{kernel}"))
                exponentials = [loop for loop in loops if sum(mnemonic == "vfmadd213ps" for _, mnemonic, _ in loop) >= 4 * 4]
                self.assertGreaterEqual(len(exponentials), 1)
                for loop in exponentials:  # four vectors' polynomials of degree five, or four where that is all
                    self.assertLessEqual(sum(mnemonic.startswith("vfmadd") for _, mnemonic, _ in loop), 4 * 6)


class MemoryAhead(unittest.TestCase):
    """Flash attention asks for what is read later, among its multiply-adds: for two lines, of keys and of values, into the second-level
    cache, and where keys may be read in place for one of the next panel into the first. With AVX2, whose panels are narrower, in passes of
    several channels, so that each asks for lines of its own."""

    CHANNELS = {("x86-64-avx2", ""): 2, ("x86-64-avx2", "_d64"): 4, ("x86-64-avx2", "_d128"): 4} # of a pass

    def test_is_asked_for(self):
        for machine, dtype, multiply_add, kernel in KERNELS:
            with self.subTest(machine=machine, dtype=dtype, kernel=kernel):
                path = object_of(machine, f"attention_flash_{dtype}{kernel}")
                self.assertGreaterEqual(CODE.disassembly(path).count("prefetcht1"), 3) # lines of q, k and v
                keys_in_place = dtype == "f32" or machine == "x86-64-avx512_bf16" and kernel
                asking, sums = 0, 24 if FLOAT_LANES[machine] == 16 else 12 # of a panel and a tile
                for loop in CODE.innermost_loops(path):
                    found = [mnemonic for _, mnemonic, _ in loop]
                    products = count(multiply_add, loop)
                    if products == 0 or not asks(loop):
                        continue
                    asking += products == sums * self.CHANNELS.get((machine, kernel), 1)
                    self.assertEqual((found.count("prefetcht1"), found.count("prefetcht0")), (2, int(bool(keys_in_place))))
                self.assertGreater(asking, 0)


class Dropout(unittest.TestCase):
    # Ten rounds of two products, which take two instructions each; of some that are the same for all rows, one number is multiplied.
    MOST_PRODUCTS = 40

    def test_makes_the_words_of_a_counter_once_for_its_keys(self):
        for machine, kernel in [("x86-64-avx512", "attention_flash_f32_d64"), ("x86-64-avx2", "attention_flash_f32_d64"),
                                ("x86-64-avx512_amx", "attention_flash_bf16_d64")]:
            with self.subTest(machine=machine):
                loops = [[mnemonic for _, mnemonic, _ in loop].count("vpmuludq") for loop in CODE.innermost_loops(object_of(machine, kernel))]
                products = [found for found in loops if found >= 8]
                self.assertEqual(len(products), 1, "loops that make words")
                self.assertLessEqual(products[0], self.MOST_PRODUCTS)


if __name__ == "__main__":
    main()
