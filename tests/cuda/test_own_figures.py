"""Kernels of attune_add_kernel have no spills and no stack, by what ptxas said when they were made: test_own_figures.py FUNCTION.json..."""
import json
import pathlib
import sys

kernels = [(path, kernel) for path in sys.argv[1:] for kernel in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))]
if not kernels:
    print("skipped: no kernel was assembled")
faults = [f"{path}, {kernel['kernel']}, {kernel['arch']}: {kernel[figure]} {figure}; the limit is 0"
          for path, kernel in kernels for figure in ("stack_bytes", "spill_stores", "spill_loads") if kernel[figure]]
sys.exit("\n".join(faults) or None)
