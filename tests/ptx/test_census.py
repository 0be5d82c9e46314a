"""The census of machine code, on text like nvdisasm's."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "cmake"))
import cuda_census  # noqa: E402

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "cuda_census.py"

SASS = """\t.headerflags\t@"EF_CUDA_SM80"
//--------------------- .text.first --------------------------
\t.section\t.text.first,"ax",@progbits
first:
.text.first:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/              @!PT LDS RZ, [RZ] ;
.L_x_0:
        /*0020*/              @!P0 LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0030*/                   LDGSTS.E.BYPASS.128 [R0], [R2.64] ;
        /*0040*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
.L_x_1:
        /*0050*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;
        /*0060*/                   LDSM.16.M88.4 R8, [R0] ;
        /*0070*/              @!P0 CALL.REL.NOINC `(.L_x_2) ;
        /*0080*/               @P1 BRA `(.L_x_1) ;
        /*0090*/                   BRA `(.L_x_0) ;
.L_x_2:
        /*00a0*/                   EXIT ;
.L_x_3:
        /*00b0*/                   BRA `(.L_x_3);
        /*00c0*/                   NOP ;
\t.section\t.text.second,"ax",@progbits
        /*0000*/                   CALL.REL.NOINC `($second$slowpath) ;
.L_x_4:
        /*0010*/                   IADD3 R0, R0, 0x1, RZ ;
        /*0020*/              @!P0 BRA `(.L_x_4) ;
        /*0030*/                   STL [R1], R0 ;
        /*0040*/                   RET.REL.NODEC R2 `(second) ;
"""


BRANCHES = """\t.section\t.text.branches,"ax",@progbits
.L_x_0:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/               @P0 BRA `(.L_x_1) ;
        /*0020*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;
.L_x_1:
        /*0030*/               @P1 BRA `(.L_x_3) ;
.L_x_2:
        /*0040*/                   LDS R0, [R2] ;
        /*0050*/               @P2 BRA `(.L_x_2) ;
.L_x_3:
        /*0060*/              @!PT LDS RZ, [RZ] ;
        /*0070*/               @P3 BRA `(.L_x_4) ;
        /*0080*/                   MUFU.EX2 R0, R0 ;
        /*0090*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;
        /*00a0*/                   BRA `(.L_x_4) ;
        /*00b0*/                   SHFL.BFLY PT, R0, R1, 0x1, 0x1f ;
.L_x_4:
        /*00c0*/               @P4 BRA `(.L_x_0) ;
        /*00d0*/                   EXIT ;
"""


class Census(unittest.TestCase):
    def run_script(self, text, *options):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "kernel.sass")
            file.write_text(text, encoding="utf-8")
            return subprocess.run([sys.executable, "-B", SCRIPT, "--sass", *options, file], capture_output=True, text=True, check=False)

    def kernels(self):
        done = self.run_script(SASS, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return {kernel["kernel"]: kernel for kernel in next(iter(json.loads(done.stdout).values()))}

    def test_counts_what_runs(self):
        first = self.kernels()["first"]["all"]
        self.assertEqual(first["LDS"], 0)  # never runs
        self.assertEqual(first["LDG"], 1)
        self.assertEqual(first["LDGSTS"], 1)
        self.assertEqual(first["total"], 12)

    def test_hottest_loop_is_the_longest_with_tensor_cores(self):
        loop = self.kernels()["first"]["loop"]
        self.assertEqual((loop["HMMA"], loop["LDSM"], loop["BAR"], loop["total"]), (1, 1, 1, 8))

    def ways(self, *wanted):
        (kernel,) = cuda_census.read_kernels(BRANCHES)
        return [cuda_census.count(kernel.shortest_way(kernel.hottest_loop(), each))["total"] for each in wanted]

    def test_shortest_ways(self):
        self.assertEqual(self.ways({}, {"HMMA": 1}, {"HMMA": 2}, {"MUFU": 1}, {"HMMA": 1, "MUFU": 1}), [5, 6, 9, 8, 8])

    def test_ways_through_an_inner_loop(self):
        self.assertEqual(self.ways({"LDS": 1}, {"LDS": 3}), [7, 11])

    def test_no_way(self):
        self.assertEqual(self.ways({"HMMA": 3}, {"SHFL": 1}), [0, 0])

    def test_calls_need_a_return(self):
        kernels = self.kernels()
        self.assertEqual(kernels["first"]["all"]["CALL"], 0)
        self.assertEqual(kernels["second"]["all"]["CALL"], 1)
        self.assertEqual(kernels["second"]["all"]["STL"], 1)
        self.assertEqual(kernels["second"]["loop"]["total"], 2)

    def test_prints_a_line_for_each_part(self):
        done = self.run_script(SASS)
        self.assertEqual(len(done.stdout.splitlines()), 4)
        self.assertIn(" first loop: HMMA 1 HGMMA 0 LDSM 1 ", done.stdout)

    def test_refuses_files_without_kernels(self):
        done = self.run_script("nothing")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no kernel in", done.stderr)


if __name__ == "__main__":
    unittest.main()
