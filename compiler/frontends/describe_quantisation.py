"""Quantisation of a model: of which tensors, in how many bits, and with scales of what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

import onnx

from ..errors import InputError, UnsupportedError
from .importers import as_onnx
from .model_inputs import ModelInputs

_BIAS = onnx.TensorProto.INT32

_PRODUCTS: Mapping[str, tuple[int, int, int, str]] = {
    "ConvInteger": (1, -1, -1, ""),
    "DynamicQuantizeLSTM": (1, 8, -1, "dynamic"),
    "DynamicQuantizeMatMul": (1, 2, -1, "dynamic"),
    "MatMulInteger": (1, -1, -1, ""),
    "MatMulIntegerToFloat": (1, 3, -1, ""),
    "QAttention": (1, 4, -1, ""),
    "QGemm": (3, 4, 8, "static"),
    "QLinearConv": (3, 4, 7, "static"),
    "QLinearMatMul": (3, 4, 7, "static"),
}
"""By operator the operands that are the weights, their scales and the zero point of the result, and how its activations
are quantised, where it quantises them."""

_IN_BLOCKS = {"GatherBlockQuantized": 128, "MatMulBnb4": 0, "MatMulNBits": 0}
"""Operators of weights in four or other bits, with the elements of a block where it has no attribute."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The type of elements of weights or activations, scales of what, and for activations when: static or dynamic."""

    is_weight: bool
    dtype: str
    scales: str
    when: str = ""


def describe_quantisation(path: Path, inputs: ModelInputs) -> str:
    """A line of all kinds of quantised weights and activations, as the importers make them of a file; empty where there
    are none, and of a model that no importer takes as a whole."""
    try:
        converted = as_onnx(path, inputs)
    except (InputError, UnsupportedError):
        return ""
    if isinstance(converted, Path):
        return quantisation_of(onnx.load(converted, load_external_data=False))
    return quantisation_of(onnx.load_from_string(converted))


def quantisation_of(model: onnx.ModelProto) -> str:
    """The line of an ONNX model."""
    found = dict.fromkeys(_of_graph(model.graph.node, model.graph.initializer, {}))
    for function in model.functions:
        found |= dict.fromkeys(_of_graph(function.node, (), {}))
    weights, activations = ([f for f in found if f.is_weight == is_weight] for is_weight in (True, False))
    if not weights and not activations:
        return ""
    parts = []
    if weights:
        parts.append(f"weights{'' if activations else ' alone'}: {_joined(weights)}")
    if activations:
        parts.append(f"activations: {_joined(activations)}")
    return "; ".join(parts)


def _joined(found: Sequence[_Found]) -> str:
    """Kinds by type of elements, and by time: "int8, per tensor and per channel"."""
    kinds: dict[tuple[str, str], dict[str, None]] = {}
    for f in found:
        kinds.setdefault((f.dtype, f.when), {})[f.scales] = None
    return ", ".join(
        ", ".join(filter(None, (dtype, " and ".join(filter(None, scales)), when)))
        for (dtype, when), scales in kinds.items()
    )


def _of_graph(
    nodes: Sequence[onnx.NodeProto],
    initialisers: Sequence[onnx.TensorProto],
    outer: Mapping[str, onnx.TensorProto],
) -> Iterator[_Found]:
    constants = {**outer, **{t.name: t for t in initialisers}}
    constants |= {n.output[0]: a.t for n in nodes if n.op_type == "Constant" for a in n.attribute if a.name == "value"}
    for node in nodes:
        yield from _of_node(node, constants)
        for a in node.attribute:
            for graph in (a.g, *a.graphs):
                yield from _of_graph(graph.node, graph.initializer, constants)


def _of_node(node: onnx.NodeProto, constants: Mapping[str, onnx.TensorProto]) -> Iterator[_Found]:
    def constant(index: int) -> onnx.TensorProto | None:
        return constants.get(node.input[index]) if 0 <= index < len(node.input) else None

    def attribute(name: str, default: int) -> int:
        return next((a.i for a in node.attribute if a.name == name), default)

    operator = node.op_type
    if operator == "QuantizeLinear" and constant(0) is None:
        zero, stated = constant(2), attribute("output_dtype", 0)
        dtype = stated or (onnx.TensorProto.UINT8 if zero is None else zero.data_type)
        yield _Found(False, _type(dtype), _scales(constant(1), attribute("block_size", 0)), "static")
    elif operator == "DequantizeLinear":
        weights = constant(0)
        if weights is not None and weights.data_type != _BIAS:
            yield _Found(True, _type(weights.data_type), _scales(constant(1), attribute("block_size", 0)))
    elif operator == "DynamicQuantizeLinear":
        yield _Found(False, "uint8", "per tensor", "dynamic")
    elif operator in _IN_BLOCKS:
        bits, block = attribute("bits", 4), attribute("block_size", _IN_BLOCKS[operator])
        yield _Found(True, f"{bits} bits", f"in blocks of {block}" if block > 0 else "")
    elif operator in _PRODUCTS:
        index, scale, result, when = _PRODUCTS[operator]
        weights = constant(index)
        if weights is not None:
            yield _Found(True, _type(weights.data_type), _scales(constant(scale), 0))
        if when:
            zero = constant(result)
            yield _Found(False, "uint8" if zero is None else _type(zero.data_type), "per tensor", when)


def _scales(scales: onnx.TensorProto | None, block: int) -> str:
    if scales is None:
        return ""
    if block:
        return f"in blocks of {block}"
    return "per tensor" if prod(scales.dims) == 1 else "per channel"


def _type(number: int) -> str:
    """ONNX's name of a type of elements, in small letters."""
    return onnx.TensorProto.DataType.Name(number).lower() if number in onnx.TensorProto.DataType.values() else "?"
