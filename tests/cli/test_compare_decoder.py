"""bench/compare_decoder.py: how it chooses, counts and refuses, and the models it writes. Run without peers, which aren't installed for
tests. This program takes the path of gpt_bench before that of the command."""
import importlib.util
import os
import struct
import subprocess
import sys

import command

BENCH = os.path.join(os.path.dirname(__file__), "..", "..", "bench")
COMPARE = os.path.join(BENCH, "compare_decoder.py")
spec = importlib.util.spec_from_file_location("compare_decoder", COMPARE)
compare_decoder = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare_decoder)
decoder_shape = compare_decoder.decoder_shape
import gguf_file  # noqa: E402, of the same folder

GPT_BENCH = sys.argv.pop(1)
SMALL = decoder_shape.Shape(64, 2, 128, 4, 2, 300)


class Reader:
    """Reads a GGUF file's numbers and strings in turn."""

    def __init__(self, data):
        self.data, self.place = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.place)
        self.place += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def text(self):
        return self.take(f"{self.take('Q')}s").decode()

    def value(self):
        kind = self.take("I")
        return self.text() if kind == 8 else self.take({4: "I", 6: "f"}[kind])


def line(peer, tokens_per_s, case="decode_16", **more):
    return dict(peer=peer, case=case, threads=1, ms=1e3 / tokens_per_s, tokens_per_s=tokens_per_s, **more)


class CompareDecoder(command.CommandTest):
    def test_the_ratio_is_to_the_best_peer_and_the_share_to_the_limit(self):
        rows = list(compare_decoder.table([line("attune", 16, gbps=30, read_gbps=40), line("torch", 7), line("llama.cpp", 10),
                                           line("attune", 200, "prefill_1024", gflops=400, peak_gflops=500)]))
        self.assertRegex(rows[1], r"decode_16 .* 16\.00 .* 7\.00 .* 10\.00 .*1\.60 x +75 %")
        self.assertRegex(rows[2], r"prefill_1024 .* 200\.00 +80 %")

    def test_peers_count_work_as_gpt_bench_does(self):
        measured = compare_decoder.measure(GPT_BENCH, SMALL, 1, [], self.folder)
        self.assertEqual([(entry["peer"], entry["case"], entry["threads"]) for entry in measured],
                         [("attune", case, 1) for case in decoder_shape.CASES])
        for ours in measured:
            same = decoder_shape.line("torch", ours["case"], SMALL, 1, ours["ms"] * 1e-3, dtype="bf16")
            self.assertGreaterEqual(ours.keys(), same.keys())
            for key in same.keys() - {"peer", "case", "dtype", "threads"}:
                self.assertAlmostEqual(same[key] / ours[key], 1, msg=key)
            self.assertGreater(compare_decoder.share(ours), 0)

    def test_a_models_header_describes_it(self):
        header, offsets = gguf_file.header(SMALL, "bf16")
        reader = Reader(header)
        self.assertEqual((reader.take("4s"), reader.take("I")), (b"GGUF", 3))
        tensors, pairs = reader.take("QQ")
        found = {reader.text(): reader.value() for _ in range(pairs)}
        self.assertEqual((found["general.architecture"], found["llama.vocab_size"], found["llama.attention.head_count_kv"]), ("llama", 300, 2))
        self.assertEqual(found["llama.rope.freq_base"], 500000)
        end = 0
        for _ in range(tensors):
            name, rank = reader.text(), reader.take("I")
            extents, kind, offset = [reader.take("Q") for _ in range(rank)], reader.take("I"), reader.take("Q")
            self.assertEqual((offset, offset % found["general.alignment"]), (offsets[name], 0))
            self.assertGreaterEqual(offset, end, name)
            self.assertEqual(kind, 30 if rank == 2 else 0, name)
            end = offset + (2 * extents[0] * extents[1] if rank == 2 else 4 * extents[0])
            if name == "blk.1.ffn_down.weight":
                self.assertEqual(extents, [128, 64])  # fastest first
        self.assertEqual((tensors, len(header) - reader.place), (2 * 9 + 3, -reader.place % 32))

    def test_a_peer_that_is_not_installed_is_left_out_aloud(self):
        for peer in compare_decoder.peer_decoders.PEERS:  # -S: without installed packages
            done = subprocess.run([sys.executable, "-S", os.path.join(BENCH, "peer_decoders.py"), peer], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"{peer} is left out: No module named", done.stderr)

    def test_what_is_unknown_is_refused_with_what_is_known(self):
        for arguments, sentence in ((["--peers", "x"], "the peer x is unknown; there are torch, llama.cpp"), (["--rounds", "0"], "--rounds is 0"),
                                    (["--shape", "64,2,128,4,3,300"], "argument --shape"), (["--shape", "64,x"], "argument --shape")):
            done = subprocess.run([sys.executable, COMPARE, GPT_BENCH, *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    command.main()
