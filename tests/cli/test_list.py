"""attune list, as a table and as JSON."""
import json
import os

import command

# What is prebuilt (generators/variants.cmake), a line for each device, schedule and set of types: operations, and what they are compiled for.
# Tests of a kernel that isn't linked in are skipped, so that one that is left out by mistake is missed here alone.
PREBUILT = """
cpu decode: attention: bf16 bf16_d128 bf16_d64 bf16_i8kv f16 f16_d128 f16_d64 f16_i8kv f32 f32_d128 f32_d64 f32_i8kv
cpu flash: attention: bf16 bf16_d128 bf16_d64 bf16_i8kv f16 f16_i8kv f32 f32_d128 f32_d64 f32_i8kv
cpu flash_bf16x2: attention: f16
cpu flash_bf16x3: attention: f32 f32_d128 f32_d64
cpu materialized: attention: f32
cpu reference: attention add_positions alibi_slopes attention_weights layer_norm linear log_softmax log_softmax_columns log_sum_exp log_sum_exp_columns merge relative_bias rms_norm rotary_half rotary_interleaved rotary_table sinusoidal softmax softmax_columns: f32
cpu eight_rows: linear: bf16 f32
cpu row: linear: bf16 f32
cpu rows: linear: bf16 f32
cpu tiles: linear: bf16 f32
cpu vectorized: add_positions log_softmax log_softmax_columns rotary_half rotary_interleaved sinusoidal softmax softmax_columns: bf16 f16 f32
cpu vectorized: alibi_slopes log_sum_exp log_sum_exp_columns merge relative_bias rotary_table: f32
cpu vectorized: attention_weights: bf16 bf16_i8kv f16 f16_i8kv f32 f32_i8kv
cpu vectorized: layer_norm rms_norm row_sum: bf16 f32
cuda mma: attention: bf16_d128 bf16_d192 bf16_d256 bf16_d64 bf16_d96 f16_d128 f16_d192 f16_d256 f16_d64 f16_d96
cuda simt: attention: bf16 f16 f32 f32_d128 f32_d64
cuda split_kv: attention: bf16_d128 bf16_d192 bf16_d256 bf16_d64 bf16_d96 f16_d128 f16_d192 f16_d256 f16_d64 f16_d96 f32 f32_d128 f32_d64
cuda wgmma: attention: bf16_d128 bf16_d192 bf16_d256 bf16_d64 bf16_d96 f16_d128 f16_d192 f16_d256 f16_d64 f16_d96
cuda simt: add_positions log_softmax log_softmax_columns rotary_half rotary_interleaved sinusoidal softmax softmax_columns: bf16 f16 f32
cuda simt: alibi_slopes cache_counts document_ranges log_sum_exp log_sum_exp_columns merge rotary_table token_positions: f32
cuda simt: cache_write: f16 f32
cuda warps: log_softmax softmax: bf16 f16 f32
cuda warps: log_sum_exp: f32
cuda wide: log_softmax softmax: bf16 f16 f32
cuda wide: log_sum_exp: f32
"""


class List(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.list = json.loads(self.run_well("list", "--json"))

    def test_json(self):
        self.assertEqual(set(self.list), {"cpu", "gpu", "kernels"})
        for kernel in self.list["kernels"]:
            self.assertEqual(set(kernel), {"name", "operation", "schedule", "device", "dtype", "cache_dtype", "head_dim", "value_dim", "mask", "score", "position", "params",
                                           "targets"})
            self.assertIn(kernel["dtype"], ("f32", "f16", "bf16"))
            self.assertIn(kernel["cache_dtype"], (kernel["dtype"], "i8"))
        names = [kernel["name"] for kernel in self.list["kernels"]]
        self.assertEqual(len(names), len(set(names)))

    def test_all_that_is_prebuilt_is_there(self):
        expected = {}
        for line in PREBUILT.split("\n")[1:-1]:
            which, operations, kinds = line.split(": ")
            expected.update({(*which.split(), operation): set(kinds.split()) for operation in operations.split()})
        listed = {}
        for kernel in self.list["kernels"]:
            kind = kernel["dtype"] + ("" if kernel["cache_dtype"] == kernel["dtype"] else f"_{kernel['cache_dtype']}kv")
            kind += f"_d{kernel['head_dim']}" if kernel["head_dim"] else ""
            listed.setdefault((kernel["device"], kernel["schedule"], kernel["operation"]), set()).add(kind)
        self.assertEqual(listed, expected)

    def test_plain_x86_64_comes_last(self):
        for kernel in self.list["kernels"]:
            if kernel["device"] == "cpu":
                self.assertNotIn("avx", kernel["targets"][-1], kernel["name"])

    def test_table(self):
        lines = self.run_well("list").splitlines()
        self.assertEqual(lines[0].split(), ["operation", "schedule", "device", "type", "D", "mask", "targets", "kernel"])
        self.assertEqual([line.split()[-1] for line in lines[1:-3]], [kernel["name"] for kernel in self.list["kernels"]])
        self.assertEqual(lines[-2], f"This CPU runs them as {self.list['cpu']}.")
        gpu = self.list["gpu"]
        self.assertTrue(lines[-1].startswith(f"The GPU is {gpu}." if gpu else "No GPU: device cuda"), lines[-1])

    def test_one_device(self):
        for device in "cpu", "cuda":
            listed = json.loads(self.run_well("list", "--device", device, "--json"))["kernels"]
            self.assertEqual(listed, [kernel for kernel in self.list["kernels"] if kernel["device"] == device])

    def test_the_cpu_class_can_be_lowered(self):
        lowered = json.loads(self.run_well("list", "--json", env={**os.environ, "ATTUNE_CPU": "x86-64"}))
        self.assertEqual(lowered["cpu"], "x86-64")
        self.assertEqual(lowered["kernels"], self.list["kernels"])


if __name__ == "__main__":
    command.main()
