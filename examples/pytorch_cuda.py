"""PyTorch's CUDA tensors through Attune's C interface, by pointer: no copy, on PyTorch's own stream.

    cmake --build build/release --target attune_shared
    python examples/pytorch_cuda.py build/release/examples/libattune_shared.so
"""
import ctypes
import sys

import torch

OK, CUDA, MAX_RANK = 0, 1, 8
TYPES = {torch.float32: 1, torch.float16: 2, torch.bfloat16: 3}


class Tensor(ctypes.Structure):
    """attune_tensor."""
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int), ("device", ctypes.c_int), ("rank", ctypes.c_int32),
                ("extent", ctypes.c_int64 * MAX_RANK), ("stride", ctypes.c_int64 * MAX_RANK)]


class Desc(ctypes.Structure):
    """attune_attention_desc."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("dtype", ctypes.c_int), ("head_dim", ctypes.c_int64), ("value_dim", ctypes.c_int64),
                ("mask", ctypes.c_char_p), ("score", ctypes.c_char_p), ("position", ctypes.c_char_p), ("schedule", ctypes.c_char_p),
                ("kernel", ctypes.c_void_p), ("cache_dtype", ctypes.c_int), ("device", ctypes.c_int)]


class Call(ctypes.Structure):
    """attune_call."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("parallel_for", ctypes.c_void_p), ("pool", ctypes.c_void_p),
                ("workspace_bytes", ctypes.c_size_t), ("stream", ctypes.c_void_p)]


class Args(ctypes.Structure):
    """The beginning of attune_attention_args; attune_attention_args_init fills in the rest, which lies in `others`."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("q", Tensor), ("k", Tensor), ("v", Tensor), ("out", Tensor),
                ("others", ctypes.c_char * 512)]


def view(tensor):
    """A tensor as Attune sees it: the same memory, with the strides it has."""
    made = Tensor(tensor.data_ptr(), TYPES[tensor.dtype], CUDA, tensor.dim())
    made.extent[:tensor.dim()], made.stride[:tensor.dim()] = tensor.shape, tensor.stride()
    return made


class Attention:
    """Attention of [batch, heads, tokens, dim], causal or by any mask that Attune has on CUDA."""

    def __init__(self, library, dtype, head_dim, mask="causal"):
        self.library = library
        library.attune_error_message.restype = ctypes.c_char_p
        self.plan = ctypes.c_void_p()
        desc = Desc(struct_size=ctypes.sizeof(Desc), dtype=TYPES[dtype], head_dim=head_dim, mask=mask.encode(), device=CUDA)
        self.require(library.attune_attention_plan_create(ctypes.byref(desc), ctypes.byref(self.plan)))

    def __call__(self, q, k, v):
        out, args = torch.empty_like(q), Args()
        self.library.attune_attention_args_init(ctypes.byref(args))
        args.q, args.k, args.v, args.out = view(q), view(k), view(v), view(out)
        call = Call(struct_size=ctypes.sizeof(Call), stream=torch.cuda.current_stream().cuda_stream)
        self.require(self.library.attune_attention_run(self.plan, ctypes.byref(args), ctypes.byref(call)))
        return out

    def require(self, status):
        if status != OK:
            raise RuntimeError(self.library.attune_error_message().decode())


def main():
    if not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU")
        return 0
    torch.manual_seed(1)
    q, k, v = (torch.randn(2, 1000, 8, 64, device="cuda", dtype=torch.bfloat16).transpose(1, 2) for _ in range(3))
    attention = Attention(ctypes.CDLL(sys.argv[1]), q.dtype, q.shape[3])
    got = attention(q, k, v)
    expected = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True)
    error = (got.float() - expected).abs().max().item()
    print(f"largest error {error:.4f}, of values up to {expected.abs().max().item():.2f}")
    return 0 if error < 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())
