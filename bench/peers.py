#!/usr/bin/env python3
"""Time other implementations of attention and of layers on the cases of `attune bench`, to be run beside it.

    python3 -m venv .venv-peers
    .venv-peers/bin/pip install --no-deps --require-hashes -r bench/requirements-peers.txt
    .venv-peers/bin/python bench/peers.py --threads 1 prefill_d64 causal_d128
    build/release/attune bench --threads 1 --case prefill_d64 --json

Prints one JSON object a line, with the keys that `attune bench --json` has for the same things: the fastest of many calls in
milliseconds, and the rate that counts useful work only (causal counts half; where memory is the limit, K and V count once).
Cases with one query rotate over as many copies of K and V as fill four times the last-level cache, as `attune bench` does.
A peer that isn't installed, or can't do a case, is left out. Where a peer has several forms of a case, the fastest counts and is named:
ggml's of f16 stand among those of bf16.
"""
import argparse
import glob
import json
import math
import os
import time
from collections import namedtuple

import peer_ggml
import peer_layers

Case = namedtuple("Case", "batch query_heads kv_heads queries keys dim causal dtypes")
BOTH = ("f32", "bf16")
CASES = {
    "short_d64": Case(8, 8, 8, 128, 128, 64, False, BOTH),
    "odd_d80": Case(2, 6, 6, 77, 333, 80, False, ("f32",)),
    "prefill_d64": Case(1, 8, 8, 1024, 1024, 64, False, BOTH),
    "prefill_d128": Case(1, 4, 4, 4096, 4096, 128, False, BOTH),
    "causal_d64": Case(1, 8, 8, 1024, 1024, 64, True, BOTH),
    "causal_d128": Case(1, 4, 4, 4096, 4096, 128, True, BOTH),
    "causal_gqa": Case(1, 16, 4, 2048, 2048, 128, True, BOTH),
    "chunk_gqa": Case(1, 32, 8, 64, 4096, 128, False, BOTH),
    "draft_gqa": Case(1, 32, 8, 4, 4096, 128, False, BOTH),
    "decode_mha": Case(1, 32, 32, 1, 4096, 128, False, BOTH),
    "decode_gqa": Case(1, 32, 8, 1, 4096, 128, False, BOTH),
    "decode_batch": Case(16, 8, 2, 1, 2048, 128, False, BOTH),
}
LAYERS = peer_layers.CASES


def flops(case):
    return 4.0 * case.batch * case.query_heads * case.queries * case.keys * case.dim * (0.5 if case.causal else 1.0)


def kv_bytes(case, dtype):
    return 2 * case.batch * case.kv_heads * case.keys * case.dim * (4 if dtype == "f32" else 2)


def last_level_cache_bytes():
    sizes = [open(path).read().strip() for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size")]
    return max([int(size.rstrip("K")) * 1024 for size in sizes], default=32 << 20)


def copies(case, dtype):
    return math.ceil(4 * last_level_cache_bytes() / kv_bytes(case, dtype)) if case.queries == 1 else 1


def fastest(calls, seconds):
    """Seconds of one call. `calls` do the same on different tensors; a whole round of them is timed at once."""
    for call in calls:  # compile, allocate, warm up
        call()
    best, end = math.inf, time.perf_counter() + seconds
    while best == math.inf or time.perf_counter() < end:
        start = time.perf_counter()
        for call in calls:
            call()
        best = min(best, (time.perf_counter() - start) / len(calls))
    return best


def inputs(case):
    """Unit-normal q, k, v in float32, [batch, heads, tokens, dim]."""
    import numpy as np
    random = np.random.default_rng(0)
    normal = lambda heads, tokens: random.standard_normal((case.batch, heads, tokens, case.dim), dtype=np.float32)
    return normal(case.query_heads, case.queries), normal(case.kv_heads, case.keys), normal(case.kv_heads, case.keys)


def torch_calls(case, dtype, threads):
    import torch
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    base = [torch.from_numpy(x).to(torch.float32 if dtype == "f32" else torch.bfloat16) for x in inputs(case)]
    attend = lambda qkv: torch.nn.functional.scaled_dot_product_attention(*qkv, is_causal=case.causal, enable_gqa=case.query_heads != case.kv_heads)
    return [lambda qkv=[x.clone() for x in base]: attend(qkv) for _ in range(copies(case, dtype))]


def openvino_calls(case, dtype, threads):
    import numpy as np
    import openvino as ov
    import openvino.opset13 as op
    arrays, kind = inputs(case), ov.Type.f32 if dtype == "f32" else ov.Type.bf16
    q, k, v = parameters = [op.parameter(list(x.shape), kind) for x in arrays]
    group = case.query_heads // case.kv_heads
    if group > 1:  # its operation has no grouped heads: each is repeated inside the graph
        def repeat(x):
            wide = op.broadcast(op.unsqueeze(x, np.array(2)), np.array([case.batch, case.kv_heads, group, case.keys, case.dim]))
            return op.reshape(wide, np.array([case.batch, case.query_heads, case.keys, case.dim]), False)
        k, v = repeat(k), repeat(v)
    model = ov.Model([op.scaled_dot_product_attention(q, k, v, causal=case.causal)], parameters)
    compiled = ov.Core().compile_model(
        model, "CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": dtype, "PERFORMANCE_HINT": "LATENCY"})

    def call():
        request = compiled.create_infer_request()
        for index, array in enumerate(arrays):
            tensor = ov.Tensor(kind, ov.Shape(array.shape))
            tensor.data[:] = array if dtype == "f32" else array.astype(np.float16)  # bf16 data shows as float16: only speed counts here
            request.set_input_tensor(index, tensor)
        return request.infer
    return [call() for _ in range(copies(case, dtype))]


def onnxruntime_calls(case, dtype, threads):
    if dtype != "f32" or case.query_heads != case.kv_heads:
        return None  # its CPU kernel has neither
    import numpy as np
    import onnxruntime as ort
    from onnx import TensorProto, helper
    heads = case.query_heads
    packed = lambda x: np.ascontiguousarray(x.transpose(0, 2, 1, 3).reshape(case.batch, x.shape[2], heads * case.dim))
    feeds = [dict(zip("qkv", map(packed, inputs(case)))) for _ in range(copies(case, dtype))]
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["o"], domain="com.microsoft", num_heads=heads, unidirectional=int(case.causal))
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "attention", [value(name, array.shape) for name, array in feeds[0].items()],
                              [value("o", [case.batch, case.queries, heads * case.dim])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [lambda feed=feed: session.run(None, feed) for feed in feeds]


def ggml_forms(case, dtype, threads):
    return peer_ggml.forms(case, inputs(case), copies(case, dtype), dtype, threads)


PEERS = {"openvino": openvino_calls, "onnxruntime": onnxruntime_calls, "torch": torch_calls, "ggml": ggml_forms}


def fastest_form(forms, seconds):
    """The name of the form that is fastest in one round of its calls, and the seconds of one call."""
    name = min(forms, key=lambda name: fastest(forms[name], 0))
    return name, fastest(forms[name], seconds)


def measure(peer, name, dtype, threads, seconds):
    """A line of the report, or None where the peer isn't installed or can't do the case."""
    case, is_layer = {**CASES, **LAYERS}[name], name in LAYERS
    if is_layer and peer not in peer_layers.PEERS:
        return None
    try:
        calls = (peer_layers.PEERS if is_layer else PEERS)[peer](case, dtype, threads)
    except ImportError:
        return None
    if calls is None:
        return None
    form, took = fastest_form(calls, seconds) if isinstance(calls, dict) else (None, fastest(calls, seconds))
    work, read = (peer_layers.flops(case), peer_layers.weight_bytes(case, dtype)) if is_layer else (flops(case), kv_bytes(case, dtype))
    line = {"peer": peer, "case": name, "dtype": dtype, "threads": threads, "ms": round(took * 1e3, 4), "gflops": round(work / took * 1e-9, 1),
            "weight_gbps" if is_layer else "kv_gbps": round(read / took * 1e-9, 2)}
    return {**line, "form": form} if form else line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="all of attention's by default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5, help="of timing for each peer and case")
    parser.add_argument("--dtype", choices=BOTH, help="every type of the case by default")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    options = parser.parse_args()
    known = {**CASES, **LAYERS}
    if unknown := [*(set(options.cases) - set(known)), *(set(options.peers.split(",")) - set(PEERS))]:
        parser.error(f"{unknown[0]} is unknown; cases are {', '.join(known)}, peers {', '.join(PEERS)}")
    os.environ["OMP_NUM_THREADS"] = str(options.threads)  # before any peer is loaded
    for name in options.cases or CASES:
        if options.list:
            print(name, known[name])
            continue
        for dtype in [options.dtype] if options.dtype else known[name].dtypes:
            for peer in options.peers.split(","):
                if line := measure(peer, name, dtype, options.threads, options.seconds):
                    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
