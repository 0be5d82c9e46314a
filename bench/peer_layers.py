"""Layers as other libraries run them: the cases of `attune bench --layers`, for peers.py."""
from collections import namedtuple

BOTH = ("f32", "bf16")
LayerCase = namedtuple("LayerCase", "block rows outputs inputs dtypes")  # of a block: tokens, channels between its last two layers, channels
CASES = {
    "linear_512": LayerCase(False, 512, 512, 512, BOTH),
    "linear_768_to_3072": LayerCase(False, 512, 3072, 768, BOTH),
    "linear_1024": LayerCase(False, 1024, 1024, 1024, BOTH),
    "linear_2048": LayerCase(False, 2048, 2048, 2048, BOTH),
    "linear_4096": LayerCase(False, 4096, 4096, 4096, BOTH),
    "bert_block_128": LayerCase(True, 128, 3072, 768, BOTH),
    "bert_block_512": LayerCase(True, 512, 3072, 768, BOTH),
}
HEADS = 12


def weights(case):
    """Numbers of a layer."""
    return case.inputs * (4 * case.inputs + 2 * case.outputs) if case.block else case.inputs * case.outputs


def weight_bytes(case, dtype):
    return weights(case) * (4 if dtype == "f32" else 2)


def flops(case):
    return 2.0 * case.rows * weights(case) + (4.0 * case.rows ** 2 * case.inputs if case.block else 0)


def onnx_model(case, fused_attention):
    """The layer in ONNX, its weights constant: post-norm with GELU, as BERT has it. Attention is one operation of onnxruntime's, or
    the plain operations that other runtimes fuse themselves."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper
    random, nodes, constants = np.random.default_rng(0), [], []

    def constant(*shape, scale=1.0, value=None):
        array = np.asarray(value, np.int64) if value is not None else (random.standard_normal(shape) * scale).astype(np.float32)
        constants.append(numpy_helper.from_array(array, f"c{len(constants)}"))
        return constants[-1].name

    def add(operation, *inputs, **attributes):
        nodes.append(helper.make_node(operation, inputs, [f"t{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def linear(x, inputs, outputs):
        return add("Add", add("MatMul", x, constant(inputs, outputs, scale=inputs ** -0.5)), constant(outputs))

    def heads(x, order):
        return add("Transpose", add("Reshape", x, constant(value=[1, case.rows, HEADS, case.inputs // HEADS])), perm=order)

    def attention(q, k, v):
        if fused_attention:
            return add("MultiHeadAttention", q, k, v, domain="com.microsoft", num_heads=HEADS)
        scores = add("MatMul", heads(q, [0, 2, 1, 3]), heads(k, [0, 2, 3, 1]))
        constants.append(numpy_helper.from_array(np.float32((case.inputs // HEADS) ** -0.5), "scale"))
        context = add("MatMul", add("Softmax", add("Mul", scores, "scale"), axis=-1), heads(v, [0, 2, 1, 3]))
        return add("Reshape", add("Transpose", context, perm=[0, 2, 1, 3]), constant(value=[1, case.rows, case.inputs]))

    width, norm = case.inputs, lambda x: add("LayerNormalization", x, constant(case.inputs), constant(case.inputs), axis=-1)
    if case.block:
        attended = linear(attention(*(linear("x", width, width) for _ in range(3))), width, width)
        state = norm(add("Add", "x", attended))
        norm(add("Add", state, linear(add("Gelu", linear(state, width, case.outputs)), case.outputs, width)))
    else:
        linear("x", width, case.outputs)
    value = lambda name, channels: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, case.rows, channels])
    last = nodes[-1].output[0]
    graph = helper.make_graph(nodes, "layer", [value("x", width)], [value(last, width if case.block else case.outputs)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)], ir_version=9)


def tokens(case):
    import numpy as np
    return np.random.default_rng(1).standard_normal((1, case.rows, case.inputs), dtype=np.float32)


def onnxruntime_calls(case, dtype, threads):
    if dtype != "f32":
        return None
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(onnx_model(case, True).SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {"x": tokens(case)}
    return [lambda: session.run(None, feed)]


def openvino_calls(case, dtype, threads):
    import openvino as ov
    compiled = ov.Core().compile_model(
        ov.Core().read_model(onnx_model(case, False).SerializeToString()), "CPU",
        {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": dtype, "PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()
    request.set_input_tensor(ov.Tensor(tokens(case)))
    return [request.infer]


def torch_calls(case, dtype, threads):
    import torch
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    layer = torch.nn.Linear(case.inputs, case.outputs)
    if case.block:
        layer = torch.nn.TransformerEncoderLayer(case.inputs, HEADS, case.outputs, activation="gelu", batch_first=True)
    kind = torch.float32 if dtype == "f32" else torch.bfloat16
    layer, x = layer.eval().to(kind), torch.from_numpy(tokens(case)).to(kind)
    return [lambda: layer(x)]


PEERS = {"openvino": openvino_calls, "onnxruntime": onnxruntime_calls, "torch": torch_calls}
