#!/usr/bin/env python3
"""Attune and its peers on the same cases in one run: `./dev bench` without arguments.

    bench/compare.py build/release/attune -o build/bench [CASE ...] [--threads 1,2] [--dtype f32,bf16] [--rounds 3] [--seconds 0.5]

In each round every case is timed by `attune bench` and then by each peer (see peers.py), and the best round of each counts: what
disturbs a machine for a while then disturbs all alike. Writes results.jsonl (one object a line, Attune's lines as `attune bench --json`
prints them with "peer": "attune") and one SVG chart for each type and number of threads, and prints a table. What was written before is
replaced when all is measured.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import peers  # noqa: E402


def lines_of(command):
    """The JSON objects a command prints, one a line; [] where it can't do the case, with its reason on stderr."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def measure(attune, case, dtype, threads, seconds, others):
    common = ["--threads", str(threads), "--dtype", dtype, "--seconds", str(seconds)]
    ours = [dict(line, peer="attune") for line in lines_of([attune, "bench", "--case", case, "--json", *common])]
    if not others:
        return ours
    return ours + lines_of([sys.executable, str(HERE / "peers.py"), case, "--peers", ",".join(others), *common])


def best_of(rounds):
    """For each peer, case, type, threads and schedule the line with the least time."""
    best = {}
    for line in rounds:
        key = tuple(line.get(name) for name in ("dtype", "threads", "case", "peer", "schedule"))
        if key not in best or line["ms"] < best[key]["ms"]:
            best[key] = line
    return list(best.values())


def write_lines(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def rate(line):
    """Rates of cases with one query are limited by memory: GB/s of K and V. Others: useful GFLOP/s."""
    case = peers.CASES.get(line["case"])
    return line["kv_gbps"] if case and case.queries == 1 else line["gflops"]


def table(lines):
    names = ["attune", *peers.PEERS]
    yield "{:20}{:6}{:>8}  ".format("case", "dtype", "threads") + "".join(f"{name:>13}" for name in names) + f"{'to the best':>13}"
    for key in dict.fromkeys((line["case"], line["dtype"], line["threads"]) for line in lines):
        rates = {line["peer"]: rate(line) for line in lines if (line["case"], line["dtype"], line["threads"]) == key}
        others = [value for name, value in rates.items() if name != "attune"]
        ratio = f"{rates['attune'] / max(others):.2f} x" if others and "attune" in rates else ""
        shown = "".join(f"{rates[name]:13.1f}" if name in rates else f"{'':13}" for name in names)
        yield f"{key[0]:20}{key[1]:6}{key[2]:8}  {shown}{ratio:>13}"


def charts(lines, folder):
    """One bar chart for each type and number of threads: the rate of each, as a share of Attune's."""
    import pygal
    for dtype, threads in dict.fromkeys((line["dtype"], line["threads"]) for line in lines):
        chosen = {(line["case"], line["peer"]): rate(line) for line in lines if (line["dtype"], line["threads"]) == (dtype, threads)}
        cases = [case for case in dict.fromkeys(case for case, _ in chosen) if (case, "attune") in chosen]
        chart = pygal.Bar(js=[], disable_xml_declaration=True, legend_at_bottom=True, x_label_rotation=30, print_values=False)
        chart.title = f"Rate as a share of Attune's, {dtype}, {threads} thread{'s' * (threads > 1)}"
        chart.x_labels = cases
        for peer in ("attune", *peers.PEERS):
            if any((case, peer) in chosen for case in cases):
                chart.add(peer, [round(chosen[case, peer] / chosen[case, "attune"], 3) if (case, peer) in chosen else None for case in cases])
        chart.render_to_file(str(folder / f"peers-{dtype}-{threads}.svg"))


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attune", help="the attune command")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="all of them by default")
    parser.add_argument("-o", "--output", type=Path, default=Path("build/bench"))
    parser.add_argument("--threads", type=numbers, default=[1, len(os.sched_getaffinity(0))], help="one, and all, by default")
    parser.add_argument("--dtype", default="f32,bf16")
    parser.add_argument("--peers", default=",".join(peers.PEERS), help="'' for none")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of timing for each case, in each round")
    options = parser.parse_intermixed_args()
    others, known = [name for name in options.peers.split(",") if name], {**peers.CASES, **peers.LAYERS}
    for what, given, choices in (("case", options.cases, known), ("peer", others, peers.PEERS), ("type", options.dtype.split(","), peers.BOTH)):
        if unknown := [name for name in given if name not in choices]:
            parser.error(f"the {what} {unknown[0]} is unknown; there are {', '.join(choices)}")
    for name in ("rounds", "seconds"):
        if getattr(options, name) <= 0:
            parser.error(f"--{name} is {getattr(options, name)}; it must be above 0")
    measured = []
    for number in range(options.rounds):
        for threads in dict.fromkeys(options.threads):
            for case in options.cases or known:
                for dtype in options.dtype.split(","):
                    if dtype in known[case].dtypes:
                        print(f"round {number + 1} of {options.rounds}: {case} {dtype}, {threads} thread(s)", file=sys.stderr)
                        measured += measure(options.attune, case, dtype, threads, options.seconds, others)
    lines = best_of(measured)
    if not lines:
        sys.exit("nothing could be measured")
    write_lines(options.output / "results.jsonl", lines)
    charts(lines, options.output)
    print("\n".join(table(lines)))
    print(f"results and charts: {options.output}")


if __name__ == "__main__":
    main()
