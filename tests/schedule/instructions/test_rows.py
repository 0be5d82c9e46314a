"""Kernels of rows, whose outputs go past the caches, and rounding to bf16 wherever it is done."""
import itertools
import pathlib
import re
import subprocess
import tempfile
import unittest

from kernels import AR, ARCHIVES, CODE, main, object_of


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
                    pipelines = {"attune_pipelines_all_rows"} if machine != "x86-64" and "rotary" not in kernel else set()
                    of_heads = {"attune_streamed_heads_in_turn", "attune_streamed_tokens_in_turn", "attune_streams_any_in_turn",
                                "attune_streamed_turns_are_far"}
                    turns = of_heads if "rotary" in kernel else set()
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


if __name__ == "__main__":
    main()
