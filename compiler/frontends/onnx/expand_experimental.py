"""Experimental operators of ONNX before opset 10, of which no schema is left: by the operators that define them, or by
definitions of our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...errors import InputError
from ...graph.names import Names
from ...ops.call import OWN_DOMAIN
from .check_model import OLDEST_OPSET, all_nodes
from .read_model import Source

_REMOVED_IN = 10
"""The opset from which on onnxruntime has none of them, either."""

_DEFINED_FROM = {"MeanVarianceNormalization": 9, "ThresholdedRelu": 10}
"""Operators of which ONNX has a schema from this opset on; before, the importer moves them to OWN_DOMAIN."""

_TO_THE_END = 2**31 - 1


def expand_experimental(skeleton: onnx.ModelProto, source: Source) -> None:
    """Replaces Affine, Crop, ImageScaler, ParametricSoftplus, Scale and ScaledTanh of float32 in the main graph; moves
    MeanVarianceNormalization and ThresholdedRelu to OWN_DOMAIN.

    Raises InputError for attributes that are not theirs.
    """
    opset = next((i.version for i in skeleton.opset_import if i.domain in ("", "ai.onnx")), _REMOVED_IN)
    graph = skeleton.graph
    moved = [n for n in all_nodes(graph.node) if _is_onnx_s(n) and opset < _DEFINED_FROM.get(n.op_type, 0)]
    for node in moved:
        node.domain = OWN_DOMAIN
    skeleton.opset_import.extend([helper.make_opsetid(OWN_DOMAIN, 1)] if moved else [])
    if opset >= _REMOVED_IN or not any(_is_experimental(node) for node in graph.node):
        return
    names = Names(o for node in graph.node for o in (*node.input, *node.output))
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        try:
            nodes += _Expansion(node, names, opset).nodes() if _is_experimental(node) else [node]
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{source.name} is not a valid ONNX model: {node.op_type} (node {node.name!r}): its attributes are "
                f"invalid: {error}; export it again"
            ) from None
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(kept)


def _is_experimental(node: onnx.NodeProto) -> bool:
    return _is_onnx_s(node) and node.op_type in _EXPANSIONS and len(node.input) == len(node.output) == 1


def _is_onnx_s(node: onnx.NodeProto) -> bool:
    return node.domain in ("", "ai.onnx")


class _Expansion:
    """One node, and the steps from its input to its output."""

    def __init__(self, node: onnx.NodeProto, names: Names, opset: int) -> None:
        self._node, self._names, self._opset = node, names, opset
        self._attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self._made: list[onnx.NodeProto] = []
        self._value = node.input[0]

    def nodes(self) -> list[onnx.NodeProto]:
        _EXPANSIONS[self._node.op_type](self)
        self._made[-1].output[0] = self._node.output[0]
        self._made[-1].name = self._node.name
        return self._made

    def number(self, name: str, default: float) -> np.float32:
        return np.float32(self._attributes.get(name, default))

    def numbers(self, name: str) -> list[float]:
        return list(self._attributes.get(name, ()))

    def then(self, op: str, operand: np.ndarray | np.float32 | None = None, **attributes: Any) -> None:
        """A step: an operator of the value so far, and of a constant that is broadcast to it."""
        inputs = [self._value]
        if operand is not None:
            constant = self._names.fresh(f"{self._node.output[0]}.{op}")
            value = numpy_helper.from_array(np.asarray(operand), constant)
            self._made.append(helper.make_node("Constant", [], [constant], value=value))
            inputs.append(constant)
            if self._opset < OLDEST_OPSET:
                attributes["broadcast"] = 1
        self._value = self._names.fresh(f"{self._node.output[0]}.step")
        self._made.append(helper.make_node(op, inputs, [self._value], **attributes))

    def crop(self) -> None:
        """Pixels go at the left, above, right and below (`border`), or of the latter so many that `scale` stay."""
        border, kept = (self.numbers(name) for name in ("border", "scale"))
        if len(border) != 4 or len(kept) not in (0, 2):
            raise ValueError(f"border={border} and scale={kept} are no four and two numbers")
        left, top, right, bottom = border
        ends = [top + kept[0], left + kept[1]] if kept else [-n if n else _TO_THE_END for n in (bottom, right)]
        self.then("Slice", axes=[2, 3], starts=[top, left], ends=ends)


def _linear(e: _Expansion) -> None:
    e.then("Mul", e.number("alpha", 1))
    e.then("Add", e.number("beta", 0))


def _image_scaler(e: _Expansion) -> None:
    e.then("Mul", e.number("scale", 1))
    e.then("Add", np.asarray(e.numbers("bias"), np.float32).reshape(-1, 1, 1))


def _of_function(op: str) -> Callable[[_Expansion], None]:
    """alpha * op(beta * x)"""

    def expand(e: _Expansion) -> None:
        e.then("Mul", e.number("beta", 1))
        e.then(op)
        e.then("Mul", e.number("alpha", 1))

    return expand


_EXPANSIONS: Mapping[str, Callable[[_Expansion], None]] = {
    "Affine": _linear,
    "Crop": _Expansion.crop,
    "ImageScaler": _image_scaler,
    "ParametricSoftplus": _of_function("Softplus"),
    "Scale": lambda e: e.then("Mul", e.number("scale", 1)),
    "ScaledTanh": _of_function("Tanh"),
}
