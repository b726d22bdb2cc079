"""Convolutions, products of matrices, and attention."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from ..call import Call, Handler
from ..read_value import Value

_AUTO = {"valid": "VALID", "same": "SAME_UPPER", "same_lower": "SAME_LOWER"}


def padding(call: Call, rank: int) -> dict[str, Any]:
    """The padding of a window of `rank` dimensions; Core ML has begin and end of each dimension side by side."""
    kind = call.text("pad_type", "valid").lower()
    if kind == "custom":
        pads = call.ints("pad", [0] * (2 * rank))
        return {"pads": [*pads[::2], *pads[1::2]]}
    if kind not in _AUTO:
        raise call.unsupported(f"pad_type is {kind!r}")
    return {"auto_pad": _AUTO[kind]}


def _biased(call: Call, *operands: str) -> list[str]:
    return [*operands, call.read("bias")] if call.has("bias") else list(operands)


def _window(call: Call, rank: int) -> dict[str, Any]:
    ones = [1] * rank
    return {"strides": call.ints("strides", ones), "dilations": call.ints("dilations", ones)}


def _conv(call: Call) -> str:
    rank = call.rank("weight") - 2
    attributes = {**_window(call, rank), **padding(call, rank), "group": call.integer("groups", 1)}
    return call.node("Conv", _biased(call, call.read("x"), call.read("weight")), **attributes)


def _conv_transpose(call: Call) -> str:
    """Under `same`, and where the shape of the result is given, it is what a convolution would have made `x` of."""
    sizes = [n or 0 for n in call.shape("weight")[2:]]
    rank = len(sizes)
    window = _window(call, rank)
    kind = call.text("pad_type", "valid").lower()
    spans = [(k - 1) * d + 1 for k, d in zip(sizes, window["dilations"], strict=True)]
    pads, more = [0] * (2 * rank), [0] * rank
    if kind.startswith("same"):
        for i, (span, stride) in enumerate(zip(spans, window["strides"], strict=True)):
            cut = max(span - stride, 0)
            less, most = cut // 2, cut - cut // 2
            pads[i], pads[rank + i] = (most, less) if kind == "same_lower" else (less, most)
            more[i] = max(stride - span, 0)
    elif kind == "custom":
        pads = padding(call, rank)["pads"]
    if call.has("output_shape"):
        wanted = call.ints("output_shape")[-rank:]
        for i, (n, whole) in enumerate(zip(wanted, call.shape()[2:], strict=True)):
            if whole is None:
                raise call.unsupported("its output_shape is given, and the size of its operand is free")
            more[i] = n - ((whole - 1) * window["strides"][i] + spans[i] - pads[i] - pads[rank + i])
        if min(more) < 0:
            raise call.unsupported(f"its result of {wanted} is smaller than the strides make it")
    attributes = {**window, "pads": pads, "group": call.integer("groups", 1)}
    if any(more):
        attributes["output_padding"] = more
    return call.node("ConvTranspose", _biased(call, call.read("x"), call.read("weight")), **attributes)


def _transposed(call: Call, value: Value) -> str:
    """A matrix, or several, with the last two dimensions exchanged; of constants the elements."""
    if isinstance(value.data, np.ndarray):
        return call.add(Value(value.dtype, value.shape, np.ascontiguousarray(np.swapaxes(value.data, -1, -2))))
    rank = len(value.shape)
    return call.node("Transpose", [call.add(value)], perm=[*range(rank - 2), rank - 1, rank - 2])


def _linear(call: Call) -> str:
    """Weights are outputs x inputs."""
    if call.rank() == 2:
        return call.node("Gemm", _biased(call, call.read("x"), call.read("weight")), transB=1)
    product = call.node("MatMul", [call.read("x"), _transposed(call, call.value("weight"))])
    return call.node("Add", [product, call.read("bias")]) if call.has("bias") else product


def _matmul(call: Call) -> str:
    def read(name: str) -> str:
        value = call.value(name)
        is_swapped = call.flag(f"transpose_{name}") and len(value.shape) > 1
        return _transposed(call, value) if is_swapped else call.add(value)

    return call.node("MatMul", [read("x"), read("y")])


def _einsum(call: Call) -> str:
    values = [call.add(v) for v in call.values("values")]
    return call.node("Einsum", values, equation=call.text("equation", ""))


def _attention(call: Call) -> str:
    """`softmax(query keys' / sqrt(E) + mask) values`; a mask of booleans keeps what is true."""
    width = call.shape("query")[-1]
    if width is None:
        raise call.unsupported("the size of a key is free; convert the model with fixed shapes")
    scaled = call.node("Mul", [call.read("query"), call.number(1 / sqrt(width))])
    scores = call.node("MatMul", [scaled, _transposed(call, call.value("key"))])
    if call.has("attn_mask"):
        mask = call.value("attn_mask")
        if mask.dtype == "bool":
            scores = call.node("Where", [call.add(mask), scores, call.number(-np.inf)])
        else:
            scores = call.node("Add", [scores, call.add(mask)])
    return call.node("MatMul", [call.node("Softmax", [scores], axis=-1), call.read("value")])


def _pool(op: str) -> Handler:
    def convert(call: Call) -> str:
        sizes = call.ints("kernel_sizes")
        attributes: dict[str, Any] = {
            "kernel_shape": sizes,
            "strides": call.ints("strides", [1] * len(sizes)),
            **padding(call, len(sizes)),
        }
        if call.flag("ceil_mode"):
            attributes["ceil_mode"] = 1
            if "auto_pad" in attributes:  # ONNX rounds down there
                attributes["pads"] = [0] * (2 * len(sizes))
                del attributes["auto_pad"]
        if op == "AveragePool" and not call.flag("exclude_padding_from_average"):
            attributes["count_include_pad"] = 1
        return call.node(op, [call.read("x")], **attributes)

    return convert


def _channels(call: Call, name: str, default: float) -> str:
    """A vector of one number for each channel."""
    if call.has(name):
        return call.read(name)
    count: Sequence[int] = [n for n in call.shape()[1:2] if n is not None]
    if not count:
        raise call.unsupported("the number of its channels is free")
    return call.builder.constant(np.full(count, default, np.float32), name)


def _batch_norm(call: Call) -> str:
    operands = [call.read("x"), _channels(call, "gamma", 1), _channels(call, "beta", 0)]
    operands += [call.read("mean"), call.read("variance")]
    return call.node("BatchNormalization", operands, epsilon=call.real("epsilon", 1e-5))


def _instance_norm(call: Call) -> str:
    operands = [call.read("x"), _channels(call, "gamma", 1), _channels(call, "beta", 0)]
    return call.node("InstanceNormalization", operands, epsilon=call.real("epsilon", 1e-5))


def _layer_norm(call: Call) -> str:
    """Over any axes; of the last ones ONNX has an operator."""
    rank, shape = call.rank(), call.shape()
    axes = sorted(a % rank for a in call.ints("axes", range(rank)))
    epsilon = call.real("epsilon", 1e-5)
    if axes == list(range(axes[0], rank)) and call.has("gamma"):
        operands = [call.read("x"), call.read("gamma"), *([call.read("beta")] if call.has("beta") else [])]
        return call.node("LayerNormalization", operands, axis=axes[0], epsilon=epsilon)
    x, over = call.read("x"), call.integers(axes)
    centred = call.node("Sub", [x, call.node("ReduceMean", [x, over], keepdims=1)])
    variance = call.node("ReduceMean", [call.node("Mul", [centred, centred]), over], keepdims=1)
    result = call.node("Div", [centred, call.node("Sqrt", [call.node("Add", [variance, call.number(epsilon)])])])
    for op, name in (("Mul", "gamma"), ("Add", "beta")):
        if call.has(name):
            spread = [shape[i] if i in axes else 1 for i in range(rank)]
            result = call.node(op, [result, call.reshaped(call.read(name), spread)])
    return result


def _l2_norm(call: Call) -> str:
    x = call.read("x")
    total = call.node("ReduceSumSquare", [x, call.integers([-3, -2, -1])], keepdims=1)
    return call.node(
        "Div", [x, call.node("Sqrt", [call.node("Add", [total, call.number(call.real("epsilon", 1e-6))])])]
    )


def _local_response_norm(call: Call) -> str:
    names = {"alpha": 1e-4, "beta": 0.75}
    attributes = {name: call.real(name, default) for name, default in names.items()}
    return call.node("LRN", [call.read("x")], size=call.integer("size"), bias=call.real("k", 1.0), **attributes)


def _l2_pool(call: Call) -> str:
    sizes = call.ints("kernel_sizes")
    attributes = {"kernel_shape": sizes, "strides": call.ints("strides", [1] * len(sizes)), "p": 2}
    return call.node("LpPool", [call.read("x")], **attributes, **padding(call, len(sizes)))


OPERATORS: dict[str, Handler] = {
    "avg_pool": _pool("AveragePool"),
    "batch_norm": _batch_norm,
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "einsum": _einsum,
    "instance_norm": _instance_norm,
    "l2_norm": _l2_norm,
    "l2_pool": _l2_pool,
    "layer_norm": _layer_norm,
    "linear": _linear,
    "local_response_norm": _local_response_norm,
    "matmul": _matmul,
    "max_pool": _pool("MaxPool"),
    "scaled_dot_product_attention": _attention,
}
