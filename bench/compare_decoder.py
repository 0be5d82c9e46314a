#!/usr/bin/env python3
"""A Llama-style decoder of random weights in Attune, PyTorch (eager, bf16) and llama.cpp (f16, bf16), in one run: `./dev bench decoder`.

    bench/compare_decoder.py build/release/examples/gpt/gpt_bench -o build/bench [--threads 1,2] [--rounds 3] [--shape 2048,16,...]

In each round gpt_bench and each peer (see peer_decoders.py) take their turn, and the best round of each counts. Tokens a second after 16
tokens and after 1024, and of a prompt of 1024 tokens. Writes decoder.jsonl, one object a line, and prints a table. llama.cpp's models, 2.2 GB
each at the default shape, lie in a temporary folder meanwhile.
"""
import argparse
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import compare  # noqa: E402
import decoder_shape  # noqa: E402
import peer_decoders  # noqa: E402


def measure(gpt_bench, shape, threads, others, models):
    """Each program's lines of one round."""
    ours = [dict(line, peer="attune") for line in compare.lines_of([gpt_bench, *map(str, shape), "bf16", str(threads), "json"])]
    for peer in others:
        ours += compare.lines_of([sys.executable, str(HERE / "peer_decoders.py"), peer, "--shape", ",".join(map(str, shape)),
                                  "--threads", str(threads), "--models", models])
    return ours


def share(line):
    """Of what the machine can do at most: reading for a token, multiplying pairs of bf16 for a prompt."""
    return line["gbps"] / line["read_gbps"] if "read_gbps" in line else line["gflops"] / line["peak_gflops"]


def table(lines):
    names = ["attune", *peer_decoders.PEERS]
    yield f"{'tokens/s':16}{'threads':>8}  " + "".join(f"{name:>16}" for name in names) + f"{'to the best':>13}{'of the limit':>14}"
    for threads, case in dict.fromkeys((line["threads"], line["case"]) for line in lines):
        of = {line["peer"]: line for line in lines if (line["threads"], line["case"]) == (threads, case)}
        rates = {name: line["tokens_per_s"] for name, line in of.items()}
        others = [rate for name, rate in rates.items() if name != "attune"]
        ratio = f"{rates['attune'] / max(others):.2f} x" if others and "attune" in rates else ""
        limit = f"{100 * share(of['attune']):.0f} %" if "attune" in of else ""
        shown = "".join(f"{rates[name]:16.2f}" if name in rates else f"{'':16}" for name in names)
        yield f"{case:16}{threads:8}  {shown}{ratio:>13}{limit:>14}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpt_bench", help="the program of examples/gpt")
    peer_decoders.add_arguments(parser)
    parser.add_argument("-o", "--output", type=Path, default=Path("build/bench"))
    parser.add_argument("--threads", type=compare.numbers, default=[1, len(os.sched_getaffinity(0))], help="one, and all, by default")
    parser.add_argument("--peers", default=",".join(peer_decoders.PEERS), help="'' for none")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    others = [name for name in options.peers.split(",") if name]
    if unknown := [name for name in others if name not in peer_decoders.PEERS]:
        parser.error(f"the peer {unknown[0]} is unknown; there are {', '.join(peer_decoders.PEERS)}")
    if options.rounds <= 0:
        parser.error(f"--rounds is {options.rounds}; it must be above 0")
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            for threads in dict.fromkeys(options.threads):
                print(f"round {number + 1} of {options.rounds}: {threads} thread(s)", file=sys.stderr)
                measured += measure(options.gpt_bench, options.shape, threads, others, folder)
    lines = compare.best_of(measured)
    if not lines:
        sys.exit("nothing could be measured")
    compare.write_lines(options.output / "decoder.jsonl", lines)
    print("\n".join(table(lines)))
    print(f"results: {options.output / 'decoder.jsonl'}")


if __name__ == "__main__":
    main()
