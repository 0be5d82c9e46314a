"""attune list, explain and run --device cuda, over the emulated driver: a GPU gives what the CPU gives."""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import command  # noqa: E402
from npy import Array  # noqa: E402


class Cuda(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.list = json.loads(self.run_well("list", "--json", "--device", "cuda"))

    def need(self, operation, dtype="f32"):
        if not any((kernel["operation"], kernel["dtype"]) == (operation, dtype) for kernel in self.list["kernels"]):
            self.skipTest(f"no kernel of {operation} for {dtype} on device cuda is linked in")

    def check(self, *arguments, outputs=("-o",), tolerance=4e-6):
        """Both devices write the same."""
        for device in "cpu", "cuda":
            files = [text for option in outputs for text in (option, f"{device}{option}.npy")]
            self.run_well("run", *arguments, *files, "--device", device)
        for option in outputs:
            self.assert_close(f"cuda{option}.npy", self.read(f"cpu{option}.npy"), tolerance=tolerance)


class List(Cuda):
    def test_the_gpu_is_named(self):
        self.assertIn("compute capability", self.list["gpu"])
        self.assertTrue(self.run_well("list").splitlines()[-1].startswith("The GPU is "))

    def test_kernels_name_architectures(self):
        for kernel in self.list["kernels"]:
            self.assertEqual(kernel["device"], "cuda")
            for target in kernel["targets"]:
                self.assertRegex(target, r"\A(sm|compute)_\d+a?\Z")


class Explain(Cuda):
    def test_the_kernel(self):
        self.need("attention")
        report = json.loads(self.run_well("explain", "causal", "--queries", 8, "--keys", 8, "--device", "cuda", "--json"))
        self.assertIn(report["kernel"], [kernel["name"] for kernel in self.list["kernels"]])
        self.assertIsNone(report["refusal"])

    def test_a_mask_of_other_terms(self):
        text = self.run_well("explain", "prefix(3)", "--queries", 8, "--keys", 8, "--device", "cuda")
        self.assertIn("this line of CMake makes one:\n         attune_add_kernel(my_attention DEVICE cuda MASK \"prefix(3)\" HEAD_DIM 64)", text)
        self.write("map.npy", Array((2, 2), [1, 0, 1, 1], "|b1"))
        text = self.run_well("explain", "blocks(4, 4)", "--queries", 8, "--keys", 8, "--block-map", "map.npy", "--device", "cuda")
        self.assertIn("kernel   none: the mask has blocks; on device cuda", text)

    def test_blocks_are_those_of_the_kernel(self):
        self.need("attention")
        wanted = {"simt": (64, 64), "mma": (128, 32), "wgmma": (128, 64)}
        for dtype in {kernel["dtype"] for kernel in self.list["kernels"] if kernel["operation"] == "attention"}:
            report = json.loads(self.run_well("explain", "causal", "--queries", 300, "--keys", 300, "--device", "cuda", "--dtype", dtype, "--json"))
            queries, keys = wanted[report["kernel"].split("_")[1]]
            self.assertEqual(report["block"], {"queries": queries, "keys": keys}, report["kernel"])
        report = json.loads(self.run_well("explain", "prefix(3)", "--queries", 300, "--keys", 300, "--device", "cuda", "--dtype", "f16",
                                          "--head-dim", "192", "--json"))
        self.assertEqual(report["block"], {"queries": 64, "keys": 32})


class Attention(Cuda):
    def setUp(self):
        super().setUp()
        self.need("attention")
        self.write("q.npy", self.normal(2, 4, 5, 64))
        self.write("k.npy", self.normal(2, 2, 9, 64))
        self.write("v.npy", self.normal(2, 2, 9, 64))

    def test_masks(self):
        for mask in "none", "causal(bottom_right)", "window(2, 1, top_left) & causal(bottom_right)":
            self.check("attention", "q.npy", "k.npy", "v.npy", "--mask", mask, outputs=("-o", "--lse"))

    def test_lengths_and_offsets_of_64_bits(self):
        self.write("lengths.npy", Array((2,), [9, 4], "<i8"))
        self.write("offsets.npy", Array((2,), [4, 0], "<i8"))
        self.check("attention", "q.npy", "k.npy", "v.npy", "--mask", "causal", "--key-lengths", "lengths.npy", "--offset", "offsets.npy")

    def test_bias_and_sinks(self):
        self.write("bias.npy", self.normal(4, 1, 9))
        self.write("sinks.npy", self.normal(4))
        self.check("attention", "q.npy", "k.npy", "v.npy", "--bias", "bias.npy", "--sinks", "sinks.npy", "--temperature", "0.7")

    def test_what_is_refused(self):
        attention = ("run", "attention", "q.npy", "k.npy", "v.npy", "-o", "o.npy", "--device", "cuda")
        self.refuse(*attention, "--weights", "w.npy", says="weights is given; attention on device cuda takes")
        self.refuse(*attention, "--dropout", "0.5", says="dropout is given")
        self.refuse(*attention, "--mask", "prefix(3)", says="the mask has prefix")
        self.refuse(*attention, "--position", "rotary(half)", says="desc.position")
        self.refuse(*attention, "--schedule", "flash", says='schedule is "flash"; the schedules of attention on device cuda are')


class Cache(Cuda):
    def setUp(self):
        super().setUp()
        self.need("attention")
        self.need("cache_write")
        self.need("cache_counts")
        (self.folder / "cache").mkdir()

    def make(self, shape, lengths, table=None):
        for name in "k", "v":
            self.write(f"cache/{name}.npy", self.normal(*shape))
        self.write("cache/lengths.npy", lengths)
        if table:
            self.write("cache/block_table.npy", table)

    def steps(self, *tokens):
        """Calls that append that many tokens each, on either device from the same files: the same outputs and caches."""
        cache = {name: self.read(f"cache/{name}.npy") for name in ("k", "v", "lengths")}
        given = [[self.normal(2, heads, count, 64) for heads in (4, 2, 2)] for count in tokens]
        for device in "cpu", "cuda":
            for name, array in cache.items():
                self.write(f"cache/{name}.npy", array)
            for step, arrays in enumerate(given):
                for name, array in zip("qkv", arrays):
                    self.write(f"{name}.npy", array)
                self.run_well("run", "attention", "q.npy", "k.npy", "v.npy", "-o", f"{device}{step}.npy", "--cache", "cache", "--mask", "causal",
                              "--device", device)
            for name in cache:
                self.write(f"{device}-{name}.npy", self.read(f"cache/{name}.npy"))
        for step in range(len(tokens)):
            self.assert_close(f"cuda{step}.npy", self.read(f"cpu{step}.npy"), tolerance=4e-6)
        for name in cache:
            self.assertEqual(self.read(f"cuda-{name}.npy").values, self.read(f"cpu-{name}.npy").values)

    def test_one_tensor_an_item(self):
        self.make((2, 2, 20, 64), Array((2,), [3, 0], "<i8"))
        self.steps(5, 1)

    def test_pages(self):
        self.make((6, 2, 8, 64), Array((2,), [3, 0], "<i4"), Array((2, 3), [5, 0, 2, 1, 4, -7], "<i8"))
        self.steps(5, 1, 8)

    def test_numbers_that_a_gpu_cannot_look_at(self):
        self.write("q.npy", self.normal(2, 4, 3, 64))
        self.write("k.npy", self.normal(2, 2, 3, 64))
        run = ("run", "attention", "q.npy", "k.npy", "k.npy", "-o", "o.npy", "--cache", "cache", "--device", "cuda")
        self.make((6, 2, 8, 64), Array((2,), [3, 22], "<i4"), Array((2, 3), [5, 0, 2, 1, 4, 3], "<i4"))
        self.refuse(*run, says="lengths.npy holds 22; with 3 new tokens it must be 0 to 21")
        self.make((6, 2, 8, 64), Array((2,), [3, 7], "<i4"), Array((2, 3), [5, 0, 2, 1, 6, 3], "<i4"))
        self.refuse(*run, says="block_table.npy holds 6; it must be 0 to 5")

    def test_a_ring_is_refused(self):
        self.write("q.npy", self.normal(2, 4, 3, 64))
        self.write("k.npy", self.normal(2, 2, 3, 64))
        self.make((2, 2, 8, 64), Array((2,), [3, 22], "<i4"))
        self.refuse("run", "attention", "q.npy", "k.npy", "k.npy", "-o", "o.npy", "--cache", "cache", "--cache-ring", "--mask", "window(2, 0)",
                    "--device", "cuda", says="cache.ring is set; a cache on device cuda is no ring")


class CacheWrite(Cuda):
    def setUp(self):
        super().setUp()
        self.need("cache_write")
        self.need("cache_write", "f16")

    def write_all(self, cache, update, starts, descr="<i8"):
        self.write("cache.npy", cache)
        self.write("update.npy", update)
        self.write("starts.npy", Array((len(starts),), starts, descr))
        return "cache-write", "cache.npy", "update.npy", "--starts", "starts.npy"

    def test_starts_and_axes(self):
        cache = self.normal(2, 3, 5, 4)
        self.check(*self.write_all(cache, self.normal(2, 3, 2, 4), [3, 1]), tolerance=0)
        self.check(*self.write_all(cache, self.normal(2, 1, 5, 4), [2, 0], "<i4"), "--axis", "1", tolerance=0)
        self.check(*self.write_all(cache, self.normal(2, 3, 3, 4), [4, 13]), "--circular", tolerance=0)
        self.check("cache-write", "cache.npy", "update.npy", tolerance=0)
        self.assertNotEqual(self.read("cuda-o.npy").values, cache.values)

    def test_half_precision(self):
        halves = Array((1, 2, 2), [0.5, 1, -2, 4], "<f2")
        self.run_well("run", *self.write_all(halves, Array((1, 1, 2), [8, -1], "<f2"), [1]), "-o", "o.npy", "--device", "cuda")
        self.assertEqual(self.read("o.npy").values, [0.5, 1, 8, -1])

    def test_what_is_refused(self):
        def refuse(cache, update, starts, *options, says):
            self.refuse("run", *self.write_all(cache, update, starts), "-o", "o.npy", "--device", "cuda", *options, says=says)

        cache, update = self.normal(2, 5, 4), self.normal(2, 2, 4)
        refuse(cache, update, [0, 4], says="starts.npy holds 4; with 2 new tokens it must be 0 to 3")
        refuse(cache, update, [0, -1], "--circular", says="starts.npy holds -1; it must be 0 or more")
        refuse(cache, update, [0, 1 << 40], "--circular", says="starts.npy holds 1099511627776; on --device cuda its numbers must fit in 32 bits")
        refuse(cache, update, [0, 4], "--axis", "0", says="axis is 0")
        refuse(cache, self.normal(2, 6, 4), [0, 0], says="update.extent[1] is 6; it must be 0 to 5")
        refuse(Array((1, 2, 2), [1, 2, 3, 4], "<i4"), Array((1, 1, 2), [3, 4], "<i4"), [1], says="cache.type is")


class Functions(Cuda):
    def test_softmax(self):
        self.need("softmax")
        self.write("x.npy", self.normal(3, 40))
        self.check("softmax", "x.npy", "--temperature", "0.5")

    def test_log_sum_exp(self):
        self.need("log_sum_exp")
        self.write("x.npy", self.normal(3, 40))
        self.check("log-sum-exp", "x.npy")

    def test_rotary(self):
        self.need("rotary_half")
        self.need("token_positions")
        self.write("x.npy", self.normal(2, 3, 5, 64))
        self.check("rotary", "x.npy", "--offset", "7", tolerance=1e-5)

    def test_sinusoidal(self):
        self.need("sinusoidal")
        self.need("token_positions")
        self.check("sinusoidal", "--tokens", 5, "--dim", 64, tolerance=1e-5)

    def test_sinusoidal_of_sixteen_bits(self):
        self.need("token_positions")
        for dtype, ulp in ("f16", 2 ** -10), ("bf16", 2 ** -7):
            self.need("sinusoidal", dtype)
            for device in "cpu", "cuda":
                self.run_well("run", "sinusoidal", "--tokens", 5, "--dim", 64, "--dtype", dtype, "-o", f"{device}.npy", "--device", device)
            cuda, cpu = self.read("cuda.npy"), self.read("cpu.npy")
            self.assertEqual((cuda.descr, cuda.shape), (cpu.descr, cpu.shape))
            for a, b in zip(cuda.numbers(), cpu.numbers(), strict=True):
                self.assertAlmostEqual(a, b, delta=ulp * abs(b) + 1e-6)

    def test_add_positions(self):
        self.need("add_positions")
        self.need("sinusoidal")
        self.need("token_positions")
        self.write("x.npy", self.normal(2, 3, 5, 64))
        self.check("add-positions", "x.npy", "--offset", "7", tolerance=1e-5)
        self.write("p.npy", Array((2, 5), [3, 1, 4, 1, 5, 9, 2, 6, 5, 3], "<i8"))
        self.check("add-positions", "x.npy", "--positions", "p.npy", tolerance=1e-5)
        self.write("t.npy", self.normal(9, 64))
        self.check("add-positions", "x.npy", "--table", "t.npy", "--offset", "4", tolerance=0)
        self.refuse("run", "add-positions", "x.npy", "-o", "y.npy", "--table", "t.npy", "--positions", "p.npy", "--device", "cuda",
                    says="positions is given beside table; on device cuda")

    def test_slopes(self):
        self.need("alibi_slopes")
        self.check("alibi-slopes", 12)


class Bench(Cuda):
    def lines(self, *arguments):
        printed = self.run_well("bench", "--device", "cuda", "--json", "--seconds", "0.001", *arguments)
        facts, *lines = map(json.loads, printed.splitlines())
        self.assertEqual(list(facts), ["date", "gpu", "driver", "clock_mhz", "memory_clock_mhz", "copy_gbps"])
        self.assertRegex(facts["date"], r"\A\d{4}-\d\d-\d\d\Z")
        self.assertRegex(facts["driver"], r"\ACUDA \d+\.\d\Z")
        self.assertGreater(facts["copy_gbps"], 0)
        return lines

    def test_decoding(self):
        self.need("attention")
        (line,) = self.lines("--shape", "2,4,2,1,600,64")
        self.assertEqual((line["mask"], line["dtype"], line["shape"]), ("none", "f32", [2, 4, 2, 1, 600, 64]))
        self.assertAlmostEqual(line["kv_gbps"] * line["seconds"] * 1e9, 2 * 2 * 2 * 600 * 64 * 4, places=3)
        self.assertAlmostEqual(line["tflops"] * line["seconds"] * 1e12, 4 * 2 * 4 * 600 * 64, places=3)

    def test_cells_that_attend_are_counted(self):
        self.need("attention")
        (line,) = self.lines("--shape", "1,1,1,100,100,64", "--mask", "window(9, 0)")
        self.assertAlmostEqual(line["tflops"] * line["seconds"] * 1e12, 4 * 64 * (100 * 10 - 9 * 10 / 2), places=3)

    def test_rows(self):
        self.need("softmax")
        lines = self.lines("--rows")
        self.assertIn("softmax_4096", [line["case"] for line in lines])
        for line in lines:
            columns, size = int(re.search(r"(\d+)(_bf16|_f16)?$", line["case"])[1]), 4 if line["dtype"] == "f32" else 2
            self.assertAlmostEqual(line["gbps"] * line["seconds"] * 1e9 / (2 * line["rows"] * columns * size), 1, places=6)
            self.assertGreaterEqual(line["rows"] * columns * size, 1 << 23)  # more than the cache holds

    def test_what_is_refused(self):
        bench = ("bench", "--device", "cuda")
        self.refuse(*bench, "--case", "decode_mha", says="on cuda --shape, --mask and --rows say what is timed")
        self.refuse(*bench, "--rows", "--mask", "causal", says="what --rows times has none")
        self.refuse(*bench, "--rows", "--schedule", "simt", says="on --device cuda --rows takes none")
        self.refuse(*bench, "--shape", "1,1,1,8,8,64,32", says="--shape has Dv = 32")


class Options(Cuda):
    def test_device(self):
        self.refuse("run", "alibi-slopes", 8, "-o", "y.npy", "--device", "gpu", says="--device is gpu; it must be cpu or cuda")


if __name__ == "__main__":
    command.main()
