"""The figures of machine code: what is read of ptxas and nvdisasm, what is refused, and the table there and back."""

import json
import pathlib
import struct
import tempfile
import unittest

import figures

TAKEN = [{"kernel": "_kernel_a_s0_row_block_id_x", "arch": "sm_80", "registers": 255, "stack_bytes": 8, "spill_stores": 4, "spill_loads": 12,
          "shared_bytes": 1024},
         {"kernel": "_kernel_b", "arch": "sm_80", "registers": 40, "stack_bytes": 0, "spill_stores": 0, "spill_loads": 0, "shared_bytes": 0},
         {"kernel": "_kernel_b", "arch": "sm_86", "registers": 256, "stack_bytes": 0, "spill_stores": 4, "spill_loads": 3, "shared_bytes": 0}]

SASS = """\t.section\t.text._kernel_a,"ax",@progbits
        /*0000*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath) ;
        /*0010*/                   CALL.REL.NOINC `(sine) ;
        /*0020*/                   LDL R1, [R2] ;
        /*0030*/                   RET.REL.NODEC R8 `(_kernel_a) ;
"""


def row(**changed):
    """With as many exponentials as there should be."""
    made = {"variant": "softmax_simt_f32", "kernel": "a", "arch": "sm_75", **{figure: 0 for figure in figures.FIGURES}, **changed}
    return {**made, "MUFU on the shortest way": changed.get("MUFU on the shortest way", figures.implied_exponentials(made))}


class Reading(unittest.TestCase):
    def test_what_ptxas_said(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "attune_k.ptx"
            path.with_suffix(".json").write_text(json.dumps(TAKEN), encoding="utf-8")
            read = figures.taken_of(path)
            self.assertEqual(read["sm_80"], {
                "_kernel_a_s0_row_block_id_x": {"registers": 255, "spill bytes": 16, "stack bytes": 8, "static shared bytes": 1024},
                "_kernel_b": {"registers": 40, "spill bytes": 0, "stack bytes": 0, "static shared bytes": 0}})
            # The lowest architecture has rows, whose faults are found there.
            self.assertEqual(list(figures.faults_between(path)), ["k, kernel b, sm_86: 7 spill bytes; the limit is 0.",
                                                                  "k, kernel b, sm_86: 256 registers; the limit is 255."])

    def test_machine_code_in_an_object(self):
        def image(kind, header, arch, content, flags=0x11):
            fields = struct.pack("<HHIQIIHHIIIQ", kind, 0x0101, header, len(content), 0, 0, 7, 1, arch, 0, 0, flags)
            return fields.ljust(header, b"\0") + content

        images = (image(2, 64, 80, b"first") + image(2, 64, 90, b"second", 0x100011) + image(1, 80, 80, b".version 8.0\0"))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "attune_k.o"
            path.write_bytes(b"before" + struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(images)) + images + b"after")
            self.assertEqual(figures.cubins(path), {"sm_80": b"first", "sm_90a": b"second"})
            path.write_bytes(b"before and after")
            with self.assertRaises(SystemExit):
                figures.cubins(path)

    def test_calls_for_division_are_told_from_others(self):
        read = figures.census_figures(SASS)["_kernel_a"]
        self.assertEqual((read["CALL"], read["of these division"], read["local loads and stores"], read["instructions"]), (2, 1, 1, 4))

    def test_ways(self):
        products = "".join("        /*0000*/                   HMMA.16816.F32 R4, R8, R12, R4 ;\n" for _ in range(68))
        sass = ("\t.section\t.text._kernel_a,\"ax\",@progbits\n.L_x_0:\n" + products + "        /*0010*/               @P0 BRA `(.L_x_1) ;\n" +
                "        /*0020*/                   SHFL.BFLY PT, R0, R1, 0x1, 0x1f ;\n" * 8 + ".L_x_1:\n" +
                "        /*0030*/               @P1 BRA `(.L_x_0) ;\n")
        read = figures.census_figures(sass, "attention_mma_bf16_d64")["_kernel_a"]
        self.assertEqual((read["HMMA on the shortest way"], read["instructions on the shortest way"], read["instructions where it rescales"]),
                         (68, 70, 78))
        self.assertEqual(figures.census_figures(sass, "softmax_simt_f32")["_kernel_a"]["instructions on the shortest way"], 0)

    def test_names(self):
        self.assertEqual(figures.short("_kernel_softmax_s0_column_block_id_y__1"), "softmax_s0_column__1")


class Limits(unittest.TestCase):
    def expect(self, reason, **changed):
        found = list(figures.faults(row(**changed)))
        self.assertEqual(len(found), 1, found)
        self.assertIn(reason, found[0])
        self.assertIn(changed.get("variant", "softmax_simt_f32"), found[0])
        self.assertIn("sm_75", found[0])

    def test_what_no_kernel_may(self):
        self.assertEqual(list(figures.faults(row())), [])
        for figure in "spill bytes", "stack bytes", "local loads and stores":
            self.expect(f"7 {figure}", **{figure: 7})

    def test_calls(self):
        self.assertEqual(list(figures.faults(row(**{"CALL": 3, "of these division": 3}))), [])
        self.expect("1 CALL other than for division", **{"CALL": 3, "of these division": 2})
        self.expect("3 CALL;", variant="attention_mma_f16_d64",
                    **{"CALL": 3, "of these division": 3, "HMMA in loop": 1000, "HMMA on the shortest way": 68})

    def test_tensor_instructions(self):
        for head_dim, (executed, least) in {64: (68, 104), 96: (100, 152), 128: (132, 200), 192: (98, 148), 256: (65, 98)}.items():
            variant = f"attention_mma_bf16_d{head_dim}"
            way = {"HMMA on the shortest way": executed, "instructions on the shortest way": 450}
            self.assertEqual(list(figures.faults(row(variant=variant, **way, **{"HMMA in loop": least}))), [])
            self.expect(f"at least {least}", variant=variant, **way, **{"HMMA in loop": least - 1})
            for other in executed - 1, executed + 1:
                self.expect(f"{other} HMMA on the shortest way; the schedule implies {executed}", variant=variant,
                            **{**way, "HMMA on the shortest way": other, "HMMA in loop": least})

    def test_exponentials(self):
        held = {"HGMMA in loop": 16, "HMMA in loop": 128}
        self.assertEqual(list(figures.faults(row(variant="attention_wgmma_f16_d128", **held, **{"MUFU on the shortest way": 64}))), [])
        self.expect("128 MUFU on the shortest way; the schedule implies 64", variant="attention_wgmma_f16_d128", **held,
                    **{"MUFU on the shortest way": 128})
        for variant, kernel, exponentials in (("mma_bf16_d64", "out", 32), ("mma_bf16_d192", "out", 16), ("mma_bf16_d256", "out", 8),
                                              ("wgmma_bf16_d64", "out", 32), ("split_kv_bf16_d128", "chunk_state_s0", 16),
                                              ("split_kv_bf16_d128", "out", 0), ("split_kv_f32_d64", "chunk_state_s0", 0)):
            self.assertEqual(figures.implied_exponentials({"variant": f"attention_{variant}", "kernel": kernel}), exponentials, variant)

    def test_length_of_a_step(self):
        held = {"variant": "attention_mma_f16_d128", "HMMA in loop": 200, "HMMA on the shortest way": 132}
        for length in 0, 451:
            self.expect(f"{length} instructions on the shortest way; the limit is 450", **held, **{"instructions on the shortest way": length})

    def test_registers(self):
        held = {"variant": "attention_wgmma_bf16_d64", "HGMMA in loop": 8, "HMMA in loop": 32}
        self.assertEqual(list(figures.faults(row(**held, registers=128))), [])
        self.expect("129 registers; the limit is 128", **held, registers=129)
        self.assertEqual(list(figures.faults(row(registers=255))), [])

    def test_warpgroup_instructions(self):
        for head_dim, (wanted, least) in {64: (8, 32), 96: (14, 96), 128: (16, 128), 192: (16, 96), 256: (20, 128)}.items():
            variant = f"attention_wgmma_bf16_d{head_dim}"
            self.assertEqual(list(figures.faults(row(variant=variant, **{"HGMMA in loop": wanted, "HMMA in loop": least}))), [])
            for other in wanted - 1, wanted + 1:
                self.expect(f"HGMMA in loop; the schedule implies {wanted}", variant=variant, **{"HGMMA in loop": other, "HMMA in loop": least})
            self.expect(f"at least {least}", variant=variant, **{"HGMMA in loop": wanted, "HMMA in loop": least - 1})
        self.expect("the schedule implies 0", **{"HGMMA in loop": 1})
        self.expect("1 CALL;", variant="attention_wgmma_f16_d64",
                    **{"CALL": 1, "of these division": 1, "HGMMA in loop": 8, "HMMA in loop": 32})

    def test_architectures(self):
        for made, expected in (["sm_75", "sm_80", "sm_90"], ["sm_75", "sm_90"]), (["sm_90"], ["sm_90"]), (["sm_90a"], ["sm_90a"]):
            self.assertEqual(figures.shown(made), expected)

    def test_tensor_instructions_of_split_keys(self):
        variant = "attention_split_kv_f16_d128"
        self.expect("at least 100", variant=variant, kernel="chunk_state_s0_batch", **{"HMMA in loop": 99, "HMMA on the shortest way": 66})
        self.assertEqual(list(figures.faults(row(variant=variant, kernel="out_s0_fused"))), [])
        self.assertEqual(list(figures.faults(row(variant="attention_split_kv_f32_d128", kernel="chunk_state_s0_batch"))), [])


class Table(unittest.TestCase):
    rows = [row(registers=40), row(arch="sm_90", registers=41)]

    def compare(self, *rows):
        version, committed = figures.read_table(figures.table(self.rows, "12.9.86", "13.2.78"))
        self.assertEqual(version, "12.9.86")
        return list(figures.differences(rows, committed))

    def test_the_same(self):
        self.assertEqual(self.compare(*self.rows), [])

    def test_another_figure(self):
        (sentence,) = self.compare(self.rows[0], row(arch="sm_90", registers=42))
        self.assertIn("sm_90: registers is 42; in the table it is 41", sentence)

    def test_rows_too_many_and_too_few(self):
        found = sorted(self.compare(self.rows[0], row(kernel="b")))
        self.assertEqual(len(found), 2)
        self.assertIn("sm_90: is in the table, but there is no such kernel", found[0])
        self.assertIn("kernel b, sm_75: isn't in the table", found[1])

    def test_variants_left_out_of_the_build(self):
        self.assertEqual(len(self.compare(row(variant="merge_simt_f32"))), 1)

    def test_text_that_is_no_table(self):
        with self.assertRaises(SystemExit):
            figures.read_table("ptxas 12.9.86\n| variant |\n")


if __name__ == "__main__":
    unittest.main()
