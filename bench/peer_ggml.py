"""Attention as ggml computes it, called through ctypes, for peers.py: requirements-ggml.txt says how it is built.

A case is timed in each form that ggml has for it, and the fastest counts: its fused operation, and the two products with a softmax
between them, whose values lie turned as llama.cpp's cache has them without the fused operation. ggml multiplies f16 rather than bf16, so
that f16 keys and values count as bf16's too. Queries and results are always f32.
"""
import ctypes
import importlib.util
import math
from pathlib import Path

FUSED, TWO_PRODUCTS = "flash_attn_ext", "mul_mat"
TYPES = {"f32": 0, "f16": 1, "bf16": 30}  # enum ggml_type
TYPES_OF = {"f32": ("f32",), "bf16": ("f16", "bf16")}
TOLERANCE = {"f32": 1e-5, "f16": 1e-2, "bf16": 2e-2}  # of unit-normal inputs, which are rounded, too; flash_attn_ext adds up in f16
OVERHEAD = 1 << 20  # bytes of a context that describe tensors and the graph
CHECKED_QUERIES = 8  # of each head


class InitParams(ctypes.Structure):
    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


class Plan(ctypes.Structure):
    _fields_ = [("work_size", ctypes.c_size_t), ("work_data", ctypes.c_void_p), ("n_threads", ctypes.c_int), ("threadpool", ctypes.c_void_p),
                ("abort_callback", ctypes.c_void_p), ("abort_callback_data", ctypes.c_void_p), ("use_ref", ctypes.c_bool)]


def libraries():
    """libggml-base, which describes graphs, and libggml-cpu, which runs them. ImportError where they aren't installed."""
    found = importlib.util.find_spec("llama_cpp")
    if found is None:
        raise ImportError("llama-cpp-python, which brings ggml, isn't installed")
    folder = Path(found.origin).parent / "lib"
    base, cpu = (ctypes.CDLL(str(folder / f"libggml-{name}.so")) for name in ("base", "cpu"))
    pointer, size, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
    for library, name, result, arguments in (
            (base, "ggml_init", pointer, [InitParams]), (base, "ggml_free", None, [pointer]),
            (base, "ggml_new_tensor_4d", pointer, [pointer, ctypes.c_int, size, size, size, size]),
            (base, "ggml_get_data", pointer, [pointer]), (base, "ggml_new_graph", pointer, [pointer]),
            (base, "ggml_build_forward_expand", None, [pointer, pointer]),
            (base, "ggml_fp32_to_fp16_row", None, [pointer, pointer, size]), (base, "ggml_fp32_to_bf16_row", None, [pointer, pointer, size]),
            (base, "ggml_flash_attn_ext", pointer, [pointer] * 5 + [real] * 3),
            (base, "ggml_mul_mat", pointer, [pointer] * 3), (base, "ggml_soft_max_ext", pointer, [pointer] * 3 + [real] * 2),
            (cpu, "ggml_graph_plan", Plan, [pointer, ctypes.c_int, pointer]),
            (cpu, "ggml_graph_compute", ctypes.c_int, [pointer, ctypes.POINTER(Plan)])):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return base, cpu


class Graph:
    """Attention on tensors of its own, in memory that its context holds until the graph is gone. Called, it computes."""

    def __init__(self, case, arrays, form, dtype, threads):
        self.base, self.cpu = libraries()
        q, k, v = arrays
        scores = case.queries * case.keys
        results = 4 * (q.size + (case.batch * case.query_heads * scores * 2 if form == TWO_PRODUCTS else 0))
        self.context = self.base.ggml_init(InitParams(OVERHEAD + 4 * (q.size + k.size + v.size + scores) + results, None, False))
        if not self.context:
            raise MemoryError("ggml has no memory for a context")
        queries, keys = self.tensor(q, "f32"), self.tensor(k, dtype)
        mask = self.causal_mask(case) if case.causal else None
        scale = 1 / math.sqrt(case.dim)
        if form == FUSED:
            self.result = self.base.ggml_flash_attn_ext(self.context, queries, keys, self.tensor(v, dtype), mask, scale, 0, 0)
        else:
            values = self.tensor(v.transpose(0, 1, 3, 2), dtype)
            weights = self.base.ggml_soft_max_ext(self.context, self.base.ggml_mul_mat(self.context, keys, queries), mask, scale, 0)
            self.result = self.base.ggml_mul_mat(self.context, values, weights)
        self.shape = (case.batch, case.queries, case.query_heads, case.dim) if form == FUSED else q.shape
        self.is_turned = form == FUSED  # its heads lie inside a token's row
        self.graph = self.base.ggml_new_graph(self.context)
        self.base.ggml_build_forward_expand(self.graph, self.result)
        self.plan = self.cpu.ggml_graph_plan(self.graph, threads, None)
        self.work = ctypes.create_string_buffer(self.plan.work_size)
        self.plan.work_data = ctypes.addressof(self.work)

    def __del__(self):
        if getattr(self, "context", None):
            self.base.ggml_free(self.context)

    def __call__(self):
        if status := self.cpu.ggml_graph_compute(self.graph, ctypes.byref(self.plan)):
            raise RuntimeError(f"ggml_graph_compute returned {status}")

    def tensor(self, array, dtype):
        import numpy as np
        tensor = self.base.ggml_new_tensor_4d(self.context, TYPES[dtype], *reversed(array.shape))
        array, data = np.ascontiguousarray(array), self.base.ggml_get_data(tensor)
        if dtype == "f32":
            ctypes.memmove(data, array.ctypes.data, array.nbytes)
        else:
            getattr(self.base, {"f16": "ggml_fp32_to_fp16_row", "bf16": "ggml_fp32_to_bf16_row"}[dtype])(array.ctypes.data, data, array.size)
        return tensor

    def causal_mask(self, case):
        import numpy as np
        return self.tensor(np.triu(np.full((1, 1, case.queries, case.keys), -np.inf, np.float32), 1), "f16")

    def output(self):
        """The last call's result, f32 [batch, heads, queries, dim]."""
        import numpy as np
        data = (ctypes.c_float * math.prod(self.shape)).from_address(self.base.ggml_get_data(self.result))
        array = np.frombuffer(data, np.float32).reshape(self.shape)
        return array.transpose(0, 2, 1, 3) if self.is_turned else array


def max_error(case, arrays, output):
    """The largest difference from attention in float64, of some queries of each head, the last among them; infinity for NaN."""
    import numpy as np
    rows = np.unique(np.linspace(0, case.queries - 1, CHECKED_QUERIES).astype(int))
    q, k, v = (x.astype(np.float64) for x in (arrays[0][:, :, rows], *arrays[1:]))
    k, v = (np.repeat(x, case.query_heads // case.kv_heads, axis=1) for x in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(case.dim)
    if case.causal:
        scores[..., np.arange(case.keys) > rows[:, None]] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    difference = np.abs(weights @ v / weights.sum(-1, keepdims=True) - output[:, :, rows]).max()
    return math.inf if np.isnan(difference) else float(difference)


def forms(case, arrays, copies, dtype, threads):
    """For each form of the case, by name, calls on as many copies of the tensors. RuntimeError where a form computes something else."""
    found = {}
    for kind in TYPES_OF[dtype]:
        for form in (FUSED, TWO_PRODUCTS):
            graphs = [Graph(case, arrays, form, kind, threads) for _ in range(copies)]
            graphs[0]()
            error = max_error(case, arrays, graphs[0].output())
            if not error <= TOLERANCE[kind]:
                raise RuntimeError(f"ggml's {form} of {kind} is {error:.1e} off; it may be at most {TOLERANCE[kind]:.0e}")
            found[f"{form} {kind}"] = graphs
    return found
