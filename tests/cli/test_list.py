"""attune list, as a table and as JSON."""
import json
import os

import command

SCHEDULES = {"attention": {"reference", "materialized", "flash"}, "attention_weights": {"reference", "vectorized"}, "softmax": {"reference", "vectorized"},
             "log_softmax": {"reference", "vectorized"}, "log_sum_exp": {"reference", "vectorized"}, "softmax_columns": {"reference", "vectorized"},
             "log_softmax_columns": {"reference", "vectorized"}, "log_sum_exp_columns": {"reference", "vectorized"},
             "merge": {"reference", "vectorized"}, "alibi_slopes": {"reference", "vectorized"}, "relative_bias": {"reference", "vectorized"},
             "rotary_half": {"reference", "vectorized"}, "rotary_interleaved": {"reference", "vectorized"},
             "sinusoidal": {"reference", "vectorized"}}


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

    def test_every_operation_has_its_schedules(self):
        for operation, schedules in SCHEDULES.items():
            listed = {kernel["schedule"] for kernel in self.list["kernels"] if kernel["operation"] == operation}
            self.assertLessEqual(schedules, listed, operation)

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
