"""Linear layers."""
import re
import unittest

from kernels import CODE, FEATURES, count, main, object_of, tuned_for


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
                tuned = tuned_for(machine)[f"linear_{schedule}"]
                tuned = tuned.get("pairs" if dtype == "bf16" and machine in pairs else "any", tuned["any"])
                path = object_of(machine, f"linear_{schedule}_{dtype}")
                self.assertEqual(set(re.findall(r"prefetch\w+", CODE.disassembly(path))), {f"prefetcht{tuned['level_ahead'] - 1}"})
                asked = [count("prefetch", loop) for loop in CODE.innermost_loops(path)]
                self.assertGreaterEqual(max(asked), tuned["panels"])


if __name__ == "__main__":
    main()
