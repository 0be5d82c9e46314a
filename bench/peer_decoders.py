#!/usr/bin/env python3
"""Time the decoder of gpt_bench as another program runs it, to be run beside it: bench/compare_decoder.py does.

    .venv-peers/bin/python bench/peer_decoders.py torch --threads 1
    .venv-peers/bin/python bench/peer_decoders.py llama.cpp --threads 1 --models FOLDER

Prints one JSON object a line, with the keys that gpt_bench has for the same things. As there, a token's time is the shortest of 30, each
after the same context, and a prompt's the shortest of 2; both include the last token's logits. Where the program has several forms of the
decoder, the fastest counts and is named. The model for llama.cpp, 2.2 GB, is written into the folder unless it is there.
"""
import argparse
import importlib
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path

import decoder_shape
from decoder_shape import PROMPT

PEERS = {  # module, and type of weights
    "torch": ("decoder_torch", "bf16"),
    "llama.cpp": ("decoder_llama_cpp", "f16"),
    "llama.cpp-bf16": ("decoder_llama_cpp", "bf16"),
}
DECODE_REPEATS, PREFILL_REPEATS = 30, 2  # as in gpt_bench


def shortest(repeats, run, *arguments):
    """Seconds of the shortest of `repeats` runs."""
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        run(*arguments)
        best = min(best, time.perf_counter() - start)
    return best


def measure(run, shape):
    """Seconds of each case."""
    run(shape.prompt(16), 0)
    short = shortest(DECODE_REPEATS, run, shape.prompt(1), 16)
    prefill = shortest(PREFILL_REPEATS, run, shape.prompt(PROMPT), 0)
    return dict(zip(decoder_shape.CASES, (short, shortest(DECODE_REPEATS, run, shape.prompt(1), PROMPT), prefill)))


def shape_of(text):
    """Six numbers, as gpt_bench takes them; ValueError where they are no decoder."""
    shape = decoder_shape.Shape(*(int(part) for part in text.split(",")))
    if min(shape) <= 0 or shape.width % (2 * shape.heads) or shape.heads % shape.kv_heads:
        raise ValueError(text)
    return shape


def add_arguments(parser):
    parser.add_argument("--shape", type=shape_of, default=decoder_shape.Shape(), metavar=",".join(decoder_shape.Shape._fields),
                        help=",".join(map(str, decoder_shape.Shape())) + " by default; a head's width is even, and kv_heads divide heads")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    add_arguments(parser)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="of models for llama.cpp; a temporary one by default")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)  # before anything is loaded
    module, dtype = PEERS[options.peer]
    try:
        program = importlib.import_module(module)
    except ImportError as error:
        sys.exit(f"{options.peer} is left out: {error}")
    with tempfile.TemporaryDirectory() as temporary:
        forms = program.forms(options.shape, options.threads, dtype, options.models or Path(temporary))
        times = {form: measure(run, options.shape) for form, run in forms.items()}
    for case in decoder_shape.CASES:
        form = min(times, key=lambda form: times[form][case])
        print(json.dumps(decoder_shape.line(options.peer, case, options.shape, options.threads, times[form][case], dtype=dtype, form=form)))


if __name__ == "__main__":
    main()
