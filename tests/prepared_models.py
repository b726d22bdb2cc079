"""Small models with constants that are computed at load, since the file has what they are made of in fewer bytes."""

from __future__ import annotations

import numpy as np
import onnx
from control_flow import graph, scalar
from onnx_models import Array, model, node, random

FILTERS, CHANNELS = 64, 32
_random = np.random.default_rng(4)
WEIGHTS = _random.integers(-127, 128, (FILTERS, CHANNELS, 3, 3)).astype(np.int8)
MATRIX = _random.integers(0, 256, (96, 192)).astype(np.uint8)
SCALES = _random.uniform(0.001, 0.01, FILTERS).astype(np.float32)


def convolution(dtype: type = np.float32) -> onnx.ModelProto:
    """A scale and a zero point for each filter."""
    weights = {"w": WEIGHTS, "s": SCALES.astype(dtype), "z": np.arange(-32, 32).astype(np.int8)}
    nodes = [
        node("DequantizeLinear", ["w", "s", "z"], ["d"], name="dequantize", axis=0),
        node("Conv", ["x", "d"], ["y"], pads=[1, 1, 1, 1]),
    ]
    kind = onnx.TensorProto.FLOAT if dtype is np.float32 else onnx.TensorProto.FLOAT16
    return model(nodes, {"x": [1, CHANNELS, 10, 10]}, ["y"], weights, 19, kind)


def products() -> onnx.ModelProto:
    """One matrix for two products, of which one reads it transposed, and in part for a third."""
    weights = {"w": MATRIX, "s": np.float32(0.01), "z": np.uint8(120), "first": [0, 0], "last": [16, 192]}
    nodes = [
        node("DequantizeLinear", ["w", "s", "z"], ["d"]),
        node("Transpose", ["d"], ["t"], perm=[1, 0]),
        node("Slice", ["d", "first", "last"], ["part"]),
        node("MatMul", ["x", "d"], ["a"]),
        node("MatMul", ["a", "t"], ["b"]),
        node("Gemm", ["a", "part"], ["y"], transB=1),
    ]
    return model(nodes, {"x": [5, 96]}, ["b", "y"], {k: np.asarray(a) for k, a in weights.items()})


def branches() -> onnx.ModelProto:
    """A convolution and a product in the branches of an If, by weights from outside of it."""
    weights = {"w": MATRIX, "s": np.asarray(0.01, np.float32), "z": np.asarray(120, np.uint8)}
    nodes = [
        node("DequantizeLinear", ["w", "s", "z"], ["d"]),
        node("Add", ["d", "d"], ["twice"]),
        node(
            "If",
            ["choose"],
            ["y"],
            then_branch=graph([node("MatMul", ["x", "d"], ["p"])], [], ["p"]),
            else_branch=graph([node("MatMul", ["x", "twice"], ["q"])], [], ["q"]),
        ),
    ]
    made = model(nodes, {"x": [5, 96]}, ["y"], weights)
    made.graph.input.append(scalar("choose"))
    return made


def transposed_convolution() -> onnx.ModelProto:
    """Filters of 3 x 3 by phases of 2 x 2 have 16 taps."""
    weights = {"w": random((32, 24, 3, 3), 1)}
    return model([node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2])], {"x": [1, 32, 5, 5]}, ["y"], weights)


def spectrum() -> onnx.ModelProto:
    """A table of cosines, times a window."""
    weights = {"step": np.asarray(32), "window": random((128,), 1) ** 2, "length": np.asarray(128)}
    return model([node("STFT", ["x", "step", "window", "length"], ["y"])], {"x": [1, 256, 1]}, ["y"], weights)


NIBBLES = _random.integers(0, 256, (96, 8, 16)).astype(np.uint8)
BLOCK_SCALES = _random.uniform(0.001, 0.01, (96, 8)).astype(np.float32)


def blocks() -> onnx.ModelProto:
    """Weights of 4 bits, with a scale for each block of 32."""
    attributes = {"K": 256, "N": 96, "bits": 4, "block_size": 32}
    product = node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **attributes)
    imports = [onnx.helper.make_opsetid("com.microsoft", 1)]
    return model([product], {"x": [3, 256]}, ["y"], {"w": NIBBLES, "s": BLOCK_SCALES}, imports=imports)


FOUR_BITS = _random.integers(-8, 8, (256, 96)).astype(onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.INT4))
ZEROS = _random.integers(-8, 8, (8, 96)).astype(FOUR_BITS.dtype)


def int4_blocks() -> onnx.ModelProto:
    """Blocks of 4 bits in the form of QuantizeLinear and DequantizeLinear."""
    weights = {"w": FOUR_BITS, "s": BLOCK_SCALES.T.copy(), "z": ZEROS}
    nodes = [
        node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=0, block_size=32),
        node("MatMul", ["x", "d"], ["y"]),
    ]
    return model(nodes, {"x": [3, 256]}, ["y"], weights, 21)


def int4_columns() -> onnx.ModelProto:
    """Weights of 4 bits with a scale and a zero point for each column, and quanta to multiply with them."""
    weights = {"w": FOUR_BITS, "t": BLOCK_SCALES[:, 0].copy(), "u": ZEROS[0].copy()}
    weights |= {"s": np.asarray(0.03, np.float32), "z": np.asarray(120, np.uint8)}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["r"]),
        node("DequantizeLinear", ["w", "t", "u"], ["d"], axis=1),
        node("MatMul", ["r", "d"], ["y"]),
    ]
    return model(nodes, {"x": [3, 256]}, ["y"], weights, 21)


def int4_rows() -> onnx.ModelProto:
    """Rows of 4 bits with a scale for each, which Gemm transposes, and weights that are transposed before a product."""
    weights = {"w": FOUR_BITS.T.copy(), "v": FOUR_BITS, "t": BLOCK_SCALES[:, 0].copy(), "u": ZEROS[0].copy()}
    weights |= {"s": np.asarray(0.03, np.float32), "z": np.asarray(120, np.uint8), "k": np.asarray(0.004, np.float32)}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["r"]),
        node("DequantizeLinear", ["w", "t", "u"], ["d"], axis=0),
        node("Gemm", ["r", "d"], ["h"], transB=1),
        node("QuantizeLinear", ["h", "s", "z"], ["p"]),
        node("DequantizeLinear", ["p", "s", "z"], ["i"]),
        node("DequantizeLinear", ["v", "k"], ["e"]),
        node("Transpose", ["e"], ["f"], perm=[1, 0]),
        node("MatMul", ["i", "f"], ["y"]),
    ]
    return model(nodes, {"x": [3, 256]}, ["y"], weights, 21)


ODD = _random.integers(-8, 8, (128, 7, 5, 5)).astype(FOUR_BITS.dtype)


def int4_odd_channels() -> onnx.ModelProto:
    """A convolution of quanta of seven channels: sums over pairs of them read one more."""
    weights = {"w": ODD, "t": np.asarray(0.004, np.float32)}
    weights |= {"s": np.asarray(0.03, np.float32), "z": np.asarray(120, np.uint8)}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["r"]),
        node("DequantizeLinear", ["w", "t"], ["d"]),
        node("Conv", ["r", "d"], ["y"], strides=[2, 2]),
    ]
    return model(nodes, {"x": [1, 7, 9, 9]}, ["y"], weights, 21)


NINE_BITS = _random.integers(0, 256, (64, 3, 7, 7)).astype(np.uint8)


def bytes_of_odd_channels() -> onnx.ModelProto:
    """A convolution of quanta of three channels, whose weights less their zero point are int16."""
    weights = {"w": NINE_BITS, "t": np.asarray(0.0004, np.float32), "u": np.asarray(113, np.uint8)}
    weights |= {"s": np.asarray(0.03, np.float32), "z": np.asarray(120, np.uint8)}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["r"]),
        node("DequantizeLinear", ["w", "t", "u"], ["d"]),
        node("Conv", ["r", "d"], ["y"], strides=[2, 2]),
    ]
    return model(nodes, {"x": [1, 3, 15, 15]}, ["y"], weights, 21)


EIGHT_BITS = _random.normal(0, 1, (256, 96)).astype(onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.FLOAT8E4M3FN))
SIXTEEN_BITS = np.exp(_random.normal(-20, 9, (96, 160))).astype(
    onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16)
)


def floats() -> onnx.ModelProto:
    """Weights in floats of 8 and of 16 bits, of which float16 does not hold the latter."""
    nodes = [
        node("DequantizeLinear", ["w", "s"], ["d"]),
        node("MatMul", ["x", "d"], ["h"]),
        node("Cast", ["v"], ["c"], to=onnx.TensorProto.FLOAT),
        node("MatMul", ["h", "c"], ["y"]),
    ]
    weights = {"w": EIGHT_BITS, "s": np.asarray(0.1, np.float32), "v": SIXTEEN_BITS}
    return model(nodes, {"x": [3, 256]}, ["y"], weights, 21)


NORMAL = np.sort(random((16,), 6))
INDICES = _random.integers(0, 16, (256, 96)).astype(onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.UINT4))


def by_codebook(indices: str, weights: str) -> list[onnx.NodeProto]:
    """Nodes that make weights of `indices` into `table`, with scales `s` for `blocks`, as the quantiser writes them."""
    return [
        node("Cast", [indices], ["i"], to=onnx.TensorProto.INT32),
        node("Gather", ["table", "i"], ["entries"]),
        node("Reshape", ["entries", "blocks"], ["blocked"]),
        node("Mul", ["blocked", "s"], ["scaled"]),
        node("Reshape", ["scaled", "shape"], [weights]),
    ]


def codebook() -> onnx.ModelProto:
    """Indices of 4 bits into a table, and a scale for each block of 32."""
    nodes = [*by_codebook("w", "d"), node("MatMul", ["x", "d"], ["y"])]
    weights = {"w": INDICES, "table": NORMAL, "s": BLOCK_SCALES.T[:, None].copy()}
    weights |= {"blocks": np.array([8, 32, 96]), "shape": np.array([256, 96])}
    return model(nodes, {"x": [3, 256]}, ["y"], weights, 21)


MODELS = {
    "convolution": (convolution, WEIGHTS.nbytes),
    "products": (products, MATRIX.nbytes + 16 * 192 * 4),
    "branches": (branches, MATRIX.nbytes),
    "transposed-convolution": (transposed_convolution, 32 * 24 * 9 * 4),
    "spectrum": (spectrum, 3 * 128 * 4),
    "int4-blocks": (int4_blocks, FOUR_BITS.size // 2 + ZEROS.size // 2 + BLOCK_SCALES.nbytes),
    "int4-columns": (int4_columns, FOUR_BITS.size // 2),
    "int4-rows": (int4_rows, FOUR_BITS.size + 96 * 4),
    "int4-odd-channels": (int4_odd_channels, ODD.size // 2),
    "bytes-of-odd-channels": (bytes_of_odd_channels, NINE_BITS.size),
    "codebook": (codebook, INDICES.size // 2 + BLOCK_SCALES.nbytes),
    "floats": (floats, EIGHT_BITS.size + SIXTEEN_BITS.nbytes),
    "blocks": (blocks, NIBBLES.nbytes + BLOCK_SCALES.nbytes),
}


def feeds_of(proto: onnx.ModelProto) -> dict[str, Array]:
    shape = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim]
    feeds = {"x": random(shape, 7).astype(onnx.helper.tensor_dtype_to_np_dtype(elem_type(proto)))}
    return feeds | ({"choose": np.asarray(False)} if len(proto.graph.input) > 1 else {})


def elem_type(proto: onnx.ModelProto) -> int:
    return proto.graph.input[0].type.tensor_type.elem_type
