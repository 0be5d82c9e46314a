"""Kernels of attune_add_kernel have no spills and no stack, by what ptxas said when they were made: test_own_figures.py FUNCTION.json..."""
import json
import pathlib
import sys

# Two thread blocks of 256 share a multiprocessor, and what only the mask and the end of the kernel need doesn't fit beside what each step does.
ALLOWED = {"own_cuda_documents_wgmma_bf16_d64": 8}  # bytes

files = [pathlib.Path(path) for path in sys.argv[1:]]
kernels = [(path, kernel) for path in files for kernel in json.loads(path.read_text(encoding="utf-8"))]
if not kernels:
    print("skipped: no kernel was assembled")
faults = [f"{path}, {kernel['kernel']}, {kernel['arch']}: {kernel[figure]} {figure}; the limit is {ALLOWED.get(path.stem, 0)}"
          for path, kernel in kernels for figure in ("stack_bytes", "spill_stores", "spill_loads") if kernel[figure] > ALLOWED.get(path.stem, 0)]
sys.exit("\n".join(faults) or None)
