#!/usr/bin/env python3
"""Attune and PyTorch's back ends of scaled_dot_product_attention on a GPU, in one run.

    cmake --build build/release --target attune_shared
    python bench/compare_cuda.py build/release/examples/libattune_shared.so -o results.jsonl [--dtype bf16,f32] [--seconds 0.2]

Prints a table and writes one JSON object a line, the first of which says what figures mean nothing without: the day, the device, its driver
and clocks. Prefill and causal with heads of 64 and 128 over 512 to 16384 tokens, 16384 in all; decoding for 1 to 64 sequences of 4096 and
32768 tokens. On each case all take turns, a batch of calls each, and the median counts. Errors are the largest against float64 over
some queries. A back end that can't do a case, or for which memory doesn't suffice, is left out.
"""
import argparse
import ctypes
import datetime
import json
import math
import statistics
import subprocess
import sys
import warnings
from collections import namedtuple
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
import pytorch_cuda  # noqa: E402

Case = namedtuple("Case", "batch heads kv_heads queries keys dim causal")
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
PEERS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}
CHECKED = 16  # queries of each head
BATCH_SECONDS, LEAST_BATCHES = 0.02, 5


def cases():
    tokens_in_all, heads = 16384, 16
    for causal in False, True:
        for dim in 64, 128:
            for tokens in 512, 1024, 2048, 4096, 8192, 16384:
                yield Case(tokens_in_all // tokens, heads, heads, tokens, tokens, dim, causal)
    for keys in 4096, 32768:
        for batch in 1, 4, 16, 64:
            yield Case(batch, 32, 8, 1, keys, 128, False)


def flops(case):
    return 4.0 * case.batch * case.heads * case.queries * case.keys * case.dim * (0.5 if case.causal else 1)


def kv_bytes(case, dtype):
    return 2.0 * case.batch * case.kv_heads * case.keys * case.dim * TYPES[dtype].itemsize


def copies(case, dtype, cache_bytes):
    """Of K and V, read in turn, so that decoding finds none of them in the cache."""
    return max(1, math.ceil(4 * cache_bytes / kv_bytes(case, dtype))) if case.queries == 1 else 1


def inputs(case, dtype, device, count):
    def normal(heads, tokens):
        return torch.randn(case.batch, heads, tokens, case.dim, device=device, dtype=TYPES[dtype])
    return normal(case.heads, case.queries), [(normal(case.kv_heads, case.keys), normal(case.kv_heads, case.keys)) for _ in range(count)]


def exact(case, q, k, v):
    """float64 of the first and the last few queries of the first item."""
    rows = sorted({*range(min(CHECKED // 2, case.queries)), *range(max(case.queries - CHECKED // 2, 0), case.queries)})
    group = case.heads // case.kv_heads
    q, k, v = q[:1, :, rows].double(), *(x[:1].double().repeat_interleave(group, dim=1) for x in (k, v))
    scores = q @ k.transpose(2, 3) / math.sqrt(case.dim)
    if case.causal:
        scores.masked_fill_(torch.arange(case.keys, device=q.device) > torch.tensor(rows, device=q.device)[:, None], -math.inf)
    return rows, scores.softmax(3) @ v


def torch_attention(case, backend):
    def attend(q, k, v):
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=case.causal, enable_gqa=case.heads != case.kv_heads)
    return attend


def able(case, dtype, library, inputs_of_case):
    """{name: function of q, k and v} of who can do it, and its largest error."""
    mask = "causal" if case.causal else "none"
    everyone = {"attune": pytorch_cuda.Attention(library, TYPES[dtype], case.dim, mask)}
    everyone |= {name: torch_attention(case, backend) for name, backend in PEERS.items()}
    q, [(k, v), *_] = inputs_of_case
    rows, wanted = exact(case, q, k, v)
    found = {}
    for name, attend in everyone.items():
        try:
            found[name] = attend, (attend(q, k, v)[:1, :, rows].double() - wanted).abs().max().item()
        except RuntimeError as error:
            if name == "attune":
                raise
            print(f"{name} leaves out {tuple(case)} {dtype}: {str(error).splitlines()[0]}", file=sys.stderr)
    return found


def seconds_of(calls):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for call in calls:
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


def medians(functions, inputs_of_case, seconds):
    """Seconds of one call of each: batches in turn, each over the copies of K and V in turn."""
    q, caches = inputs_of_case

    def batch(function, count):
        return [lambda kv=caches[i % len(caches)]: function(q, *kv) for i in range(count)]
    counts = {name: max(len(caches), min(1000, math.ceil(BATCH_SECONDS / max(seconds_of(batch(function, 3)) / 3, 1e-7))))
              for name, function in functions.items()}
    samples, spent = {name: [] for name in functions}, 0.0
    while spent < seconds * len(functions) or len(next(iter(samples.values()))) < LEAST_BATCHES:
        for name, function in functions.items():
            taken = seconds_of(batch(function, counts[name]))
            samples[name].append(taken / counts[name])
            spent += taken
    return {name: statistics.median(taken) for name, taken in samples.items()}


def smi(what):
    try:
        done = subprocess.run(["nvidia-smi", "-i", "0", f"--query-gpu={what}", "--format=csv,noheader"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def facts():
    return {"date": datetime.date.today().isoformat(), "gpu": torch.cuda.get_device_name(0), "driver": smi("driver_version"),
            "clocks": smi("clocks.sm,clocks.max.sm,clocks.mem"), "torch": torch.__version__, "cuda": torch.version.cuda}


def lines_of(case, dtype, library, seconds, device="cuda", cache_bytes=None):
    cache_bytes = cache_bytes or torch.cuda.get_device_properties(0).L2_cache_size
    given = inputs(case, dtype, device, copies(case, dtype, cache_bytes))
    found = able(case, dtype, library, given)
    for name, taken in medians({name: attend for name, (attend, _) in found.items()}, given, seconds).items():
        yield {"peer": name, "dtype": dtype, "causal": case.causal, "shape": list(case[:6]), "seconds": taken,
               "tflops": flops(case) / taken / 1e12, "kv_gbps": kv_bytes(case, dtype) / taken * 1e-9, "max_error": found[name][1]}


def row(lines):
    case = Case(*lines[0]["shape"], lines[0]["causal"])
    by_peer = {line["peer"]: line for line in lines}
    rate = "kv_gbps" if case.queries == 1 else "tflops"
    shown = "".join(f"{by_peer[name][rate]:11.1f}" if name in by_peer else f"{'':11}" for name in ("attune", *PEERS))
    errors = [line["max_error"] for line in lines if line["peer"] != "attune"]
    ratio = f"{by_peer['attune']['max_error'] / max(min(errors), 1e-30):.2f}" if errors else ""
    return "{:5} {:4} {:3} {:3} {:6} {:6} {:4}{:7} ".format(lines[0]["dtype"], *lines[0]["shape"][:1], *lines[0]["shape"][1:], case.causal) + shown + f"{ratio:>8}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="libattune_shared.so")
    parser.add_argument("-o", "--output", type=Path, help="JSON lines")
    parser.add_argument("--dtype", default="bf16,f32")
    parser.add_argument("--seconds", type=float, default=0.2, help="of timing for each case and peer")
    options = parser.parse_args()
    if unknown := [name for name in options.dtype.split(",") if name not in TYPES]:
        parser.error(f"the type {unknown[0]} is unknown; there are {', '.join(TYPES)}")
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU")
    torch.set_grad_enabled(False)
    warnings.filterwarnings("ignore", module="torch|__main__")  # a back end's reasons, a line each; that it is left out is said
    library, all_lines = ctypes.CDLL(options.library), [facts()]
    print("{:5} {:>4} {:>3} {:>3} {:>6} {:>6} {:>4}{:>7} ".format("type", "B", "Hq", "Hkv", "N", "M", "D", "causal")
          + "".join(f"{name:>11}" for name in ("attune", *PEERS)) + f"{'error':>8}")
    for dtype in options.dtype.split(","):
        for case in cases():
            try:
                lines = list(lines_of(case, dtype, library, options.seconds))
            except torch.OutOfMemoryError:
                print(f"left out: {tuple(case)} {dtype}, for which memory doesn't suffice", file=sys.stderr)
                continue
            print(row(lines), flush=True)
            all_lines += lines
    print("TFLOP/s, or of one query GB/s of K and V; the last column is Attune's error as a share of the least of the others'")
    if options.output:
        options.output.write_text("".join(json.dumps(line) + "\n" for line in all_lines))


if __name__ == "__main__":
    main()
