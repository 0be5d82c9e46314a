"""bench/compare.py: how it chooses, counts and refuses. Run without peers, which aren't installed for tests."""
import importlib.util
import os
import subprocess
import sys
import time

import command

COMPARE = os.path.join(os.path.dirname(__file__), "..", "..", "bench", "compare.py")
spec = importlib.util.spec_from_file_location("compare", COMPARE)
compare = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare)


def line(peer, ms, case="prefill_d64", **more):
    return dict(peer=peer, case=case, dtype="f32", threads=1, ms=ms, gflops=100 / ms, kv_gbps=10 / ms, **more)


class Compare(command.CommandTest):
    def test_the_best_round_counts(self):
        best = compare.best_of([line("attune", 4), line("torch", 9), line("attune", 2), line("torch", 12)])
        self.assertEqual([(entry["peer"], entry["ms"]) for entry in best], [("attune", 2), ("torch", 9)])

    def test_the_ratio_is_to_the_best_peer(self):
        rows = list(compare.table([line("attune", 2), line("torch", 3), line("openvino", 4)]))
        self.assertIn("1.50 x", rows[1])

    def test_cases_of_one_query_are_rated_by_memory(self):
        self.assertEqual(compare.rate(line("attune", 2, "decode_mha")), 5)
        self.assertEqual(compare.rate(line("attune", 2)), 50)

    def test_the_fastest_form_of_a_peer_counts_and_is_named(self):
        name, seconds = compare.peers.fastest_form({"slow": [lambda: time.sleep(0.02)], "fast": [lambda: None]}, 0)
        self.assertEqual(name, "fast")
        self.assertLess(seconds, 0.02)

    def test_attune_is_timed_by_its_command(self):
        lines = compare.measure(command.ATTUNE, "short_d64", "f32", 1, 0.01, [])
        self.assertEqual([(entry["peer"], entry["case"], entry["threads"]) for entry in lines], [("attune", "short_d64", 1)])

    def test_layers_are_those_of_attune(self):
        for name, case in compare.peers.LAYERS.items():
            if case.rows == 4096:
                continue  # takes a second, and is no other than the rest
            ours = compare.measure(command.ATTUNE, name, "f32", 1, 0.01, [])[0]
            self.assertAlmostEqual(ours["gflops"] * ours["ms"] * 1e6 / compare.peers.peer_layers.flops(case), 1, delta=2e-3, msg=name)
            self.assertEqual(compare.rate(ours), ours["gflops"])

    def test_what_is_unknown_is_refused_with_what_is_known(self):
        for arguments, sentence in ((["fast"], "the case fast is unknown; there are short_d64"), (["--peers", "x"], "the peer x is unknown"),
                                    (["--dtype", "f8"], "the type f8 is unknown"), (["--rounds", "0"], "--rounds is 0; it must be above 0")):
            done = subprocess.run([sys.executable, COMPARE, command.ATTUNE, *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    command.main()
