"""attune bench: what it prints, what it counts, what it refuses. Not how fast anything is."""
import json

import command

KEYS = ["case", "schedule", "dtype", "threads", "ms", "gflops", "kv_gbps", "peak_gflops", "read_gbps", "max_error", "workspace_bytes"]
QUICK = ("--seconds", "0.01", "--turns", "1", "--json")
OF_MANY_QUERIES = ("flash", "flash_bf16x3")  # which, depends on the CPU
# Every run measures the machine first, which takes seconds: so each serves several checks.
# Query i attends keys i - 2 to i, and of the first 8 keys those before i - 9.
MIXED = "window(2, 0, top_left) | prefix(8) & !window(9, -1, top_left)"


class Bench(command.CommandTest):
    def lines(self, *arguments):
        lines = [json.loads(line) for line in self.run_well("bench", *QUICK, *arguments).splitlines()]
        for line in lines:
            self.assertEqual(list(line), KEYS + ["share_of_unmasked"] * ("--masks" in arguments))
            self.assertLessEqual(line["max_error"], 4e-6)
            self.assertGreater(line["peak_gflops"], 1)
            self.assertGreater(line["read_gbps"], 0.1)
        return lines

    def line(self, *arguments):
        (line,) = self.lines(*arguments)
        return line

    def assert_counts(self, expected, line):
        """The operations counted, from the rate and the time."""
        self.assertAlmostEqual(line["gflops"] * line["ms"] * 1e6 / expected, 1, delta=2e-3)

    def assert_reads(self, expected, line):
        """The bytes of K and V, likewise."""
        self.assertAlmostEqual(line["kv_gbps"] * line["ms"] * 1e6 / expected, 1, delta=2e-3)

    def test_a_named_case(self):
        line = self.line("--case", "causal_d64")
        self.assertEqual([line[key] for key in ("case", "dtype", "threads")], ["causal_d64", "f32", 1])
        self.assertIn(line["schedule"], OF_MANY_QUERIES)
        self.assert_counts(4 * 8 * 1024 * 1024 * 64 / 2, line)  # named causal cases count half
        self.assert_reads(2 * 8 * 1024 * 64 * 4, line)

    def test_a_named_case_under_another_mask(self):
        self.assert_counts(4 * 8 * 1024 * 1025 * 64 / 2, self.line("--case", "causal_d64", "--mask", "causal"))

    def test_schedules_in_turn(self):
        lines = self.lines("--shape", "1,2,1,40,50,16,8", "--mask", "causal(bottom_right)",
                           "--schedule", "materialized,flash,reference", "--threads", "2")
        self.assertEqual([line["schedule"] for line in lines], ["materialized", "flash", "reference"])
        self.assertEqual({(line["case"], line["threads"]) for line in lines}, {("1,2,1,40,50,16,8", 2)})
        for line in lines:
            self.assert_counts(2 * 2 * (16 + 8) * (40 * 50 - 39 * 40 / 2), line)

    def test_pairs_attended_are_counted(self):
        line = self.line("--shape", "1,2,1,40,50,16,8", "--mask", MIXED)
        self.assert_counts(2 * 2 * (16 + 8) * (3 * 40 - 2 - 1 + sum(min(8, i - 9) for i in range(10, 40))), line)
        self.assertEqual(line["schedule"], "flash")  # by default, of many queries

    def test_mask_cases_count_what_is_attended(self):
        lines = {line["case"]: line for line in self.lines("--masks")}
        each = 4 * 2 * (64 + 64)
        self.assert_counts(each * 4096 * 4097 / 2, lines["mask_causal"])
        self.assert_counts(each * 8 * 512 * 513 / 2, lines["mask_causal_documents"])
        self.assert_counts(each * 4096 * 3001, lines["mask_lengths"])
        self.assert_counts(each * 4096 * 4096, lines["mask_tensor"])  # all its blocks have cells to compute
        for line in lines.values():
            self.assertTrue(0.1 < line["share_of_unmasked"] < 4, line)  # of a rate: of as much work as is left, whatever is masked

    def test_scaling(self):
        *lines, fit = [json.loads(line) for line in self.run_well("bench", *QUICK, "--scaling").splitlines()]
        self.assertEqual([line["case"] for line in lines], [f"window_256_over_{4096 * 2 ** i}" for i in range(5)])
        self.assertIn(fit["schedule"], OF_MANY_QUERIES)
        self.assertGreater(fit["scaling_exponent"], 0)

    def test_rows(self):
        lines = [json.loads(line) for line in self.run_well("bench", *QUICK, "--rows").splitlines()]
        self.assertEqual([line["case"] for line in lines],
                         ["softmax_128", "softmax_1000", "softmax_4096", "log_softmax_50257", "layer_norm_768", "rms_norm_4096",
                          "rotary_half_128", "rotary_half_80", "rotary_half_32_of_128", "rotary_interleaved_128", "layer_norm_768_bf16",
                          "rms_norm_4096_bf16", "softmax_4096_bf16", "rotary_half_128_bf16", "rotary_half_80_bf16",
                          "rotary_half_32_of_128_bf16", "rotary_half_128_f16"])
        for line in lines:
            self.assertEqual(list(line), ["case", "schedule", "dtype", "threads", "ms", "gbps", "copy_gbps", "max_error"])
            self.assertEqual(line["schedule"], "vectorized")
            self.assertEqual(line["dtype"], line["case"].rpartition("_")[2] if line["case"].endswith("f16") else "f32")
            self.assertLessEqual(line["max_error"], {"f32": 1e-6, "f16": 5e-4, "bf16": 4e-3}[line["dtype"]])
            self.assertGreater(line["max_error"], 0)
            self.assertGreater(line["copy_gbps"], 0.1)
        self.assertAlmostEqual(lines[1]["gbps"] * lines[1]["ms"] * 1e6 / (2 * 4096 * 4096 * 4), 1, delta=2e-3)  # each number read and written
        self.assertAlmostEqual(lines[-1]["gbps"] * lines[-1]["ms"] * 1e6 / (2 * 64 * 4096 * 128 * 2), 1, delta=2e-3)

    def check_layers(self, dtype, lines):
        for line in lines:
            self.assertEqual(list(line), ["case", "schedule", "dtype", "threads", "ms", "gflops", "weight_gbps", "peak_gflops", "read_gbps", "max_error"])
            self.assertEqual(line["dtype"], dtype)
            self.assertLessEqual(line["max_error"], 2e-6 if dtype == "f32" else 2e-2, line["case"])
            self.assertGreater(line["max_error"], 0)

    def test_layers(self):
        lines = [json.loads(line) for line in self.run_well("bench", *QUICK, "--layers").splitlines()]
        self.check_layers("f32", lines)
        self.assertEqual([line["case"] for line in lines],
                         ["linear_512", "linear_768_to_3072", "linear_1024", "linear_2048", "linear_4096", "linear_of_1_row",
                          "linear_of_2_rows", "linear_of_4_rows", "linear_of_8_rows", "bert_block_128", "bert_block_512"])
        self.assertEqual([line["schedule"] for line in lines], 5 * ["tiles"] + ["row", "rows", "rows", "eight_rows"] + 2 * ["post-norm"])
        self.assertAlmostEqual(lines[0]["gflops"] * lines[0]["ms"] * 1e6 / (2 * 512 ** 3), 1, delta=2e-3)
        self.assertAlmostEqual(lines[5]["weight_gbps"] * lines[5]["ms"] * 1e6 / (4096 ** 2 * 4), 1, delta=2e-3)
        block = 2 * 128 * 768 * (4 * 768 + 2 * 3072) + 4 * 128 * 128 * 768
        self.assertAlmostEqual(lines[9]["gflops"] * lines[9]["ms"] * 1e6 / block, 1, delta=2e-3)

    def test_layers_in_bfloat16(self):
        for case in ("linear_512", "bert_block_128"):
            self.check_layers("bf16", [json.loads(self.run_well("bench", *QUICK, "--case", case, "--dtype", "bf16"))])

    def test_one_layer(self):
        lines = [json.loads(line) for line in self.run_well("bench", *QUICK, "--case", "linear_512", "--schedule", "tiles,rows").splitlines()]
        self.assertEqual([line["schedule"] for line in lines], ["tiles", "rows"])

    def test_one_query_rotates_over_memory(self):
        line = self.line("--shape", "1,4,1,1,4096,128")
        self.assert_reads(2 * 4096 * 128 * 4, line)
        self.assert_counts(4 * 4 * 4096 * 128, line)
        self.assertEqual(line["schedule"], "decode")  # by default, of few queries

    def test_table(self):
        lines = self.run_well("bench", "--shape", "1,2,1,20,30,16", "--seconds", "0.01").splitlines()
        self.assertRegex(lines[0], r"f32, 1 thread, \S+: peak [\d.]+ GFLOP/s, read bandwidth [\d.]+ GB/s, last-level cache ")
        self.assertRegex(lines[2], "^case +schedule +ms +GFLOP/s +K.V GB/s +share +max error +workspace$")
        self.assertRegex(lines[3], "^1,2,1,20,30,16 +flash .* % of peak ")
        self.assertEqual(len(lines), 4)

    def test_refusals(self):
        for arguments, says in [
            (("--case", "nonsense"), ("--case", "nonsense", "causal_gqa")), (("--case", "short_d64", "--shape", "1,1,1,1,1,1"), "--shape"),
            (("--shape", "1,1,1,1,1"), "--shape"), (("--shape", "1,1,1,1,1,1,1,1"), "--shape"), (("--shape", "1,1,1,0,1,1"), "--shape"),
            (("--shape", "1,1,1,x,1,1"), "--shape"), (("--shape", "1,3,2,1,1,1"), ("Hq = 3", "Hkv = 2")), (("--shape", "1,1,1,1,1,2147483648"), "--shape"),
            (("--dtype", "f64"), ("--dtype", "f64", "f32, f16 or bf16")), (("--schedule", "flash,flash"), "flash"), (("--schedule", "flash,"), "--schedule"),
            (("--case", "short_d64", "--schedule", "nonsense"), "nonsense"), (("--case", "short_d64", "--mask", "nonsense"), "nonsense"),
            (("--shape", "1,1,1,20,30,4", "--mask", "causal"), "causal"), (("--seconds", "0"), "--seconds"), (("--seconds", "nan"), "--seconds"),
            (("--threads", "0"), "--threads"), (("--turns", "0"), ("--turns", "0", "1 to 1000")), (("--turns", "1001"), ("--turns", "1001", "1000")),
            (("--device", "cuda", "--turns", "2"), "--turns is 2; it is for --device cpu"), (("--masks", "--scaling"), "--masks"), (("--scaling", "--case", "short_d64"), "--case"),
            (("--rows", "--masks"), "--rows"), (("--rows", "--dtype", "bf16"), ("--dtype", "bf16")), (("--rows", "--mask", "causal"), "--mask"),
            (("--rows", "--schedule", "nonsense"), "nonsense"), (("--layers", "--rows"), "--layers"), (("--layers", "--mask", "causal"), "--mask"),
            (("--layers", "--dtype", "f16"), ("--dtype", "f16")), (("--layers", "--schedule", "tiles"), ("--schedule", "tiles")),
            (("--case", "bert_block_128", "--schedule", "tiles"), "--schedule"), (("--case", "linear_512", "--schedule", "nonsense"), "nonsense")]:
            with self.subTest(arguments):
                self.refuse("bench", *arguments, says=says)

    def test_more_than_memory_holds(self):
        self.refuse("bench", "--shape", "1,1000000,1000000,1000000,1000000,64", says="GB", code=1)


if __name__ == "__main__":
    command.main()
