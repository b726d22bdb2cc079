"""Models of opset 1 to 6 become models of a later one, by ONNX's own converter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count

import numpy as np
import onnx
from onnx import helper, numpy_helper, version_converter

from ...errors import InputError, UnsupportedError
from ...ops.call import OWN_DOMAIN
from .check_model import OLDEST_OPSET
from .fix_shapes import symbol_of
from .read_model import Source
from .separate_weights import Weights

_CONVERTED_OPSET = 9
"""The first one in which a Constant may be of any type, as the converter makes them."""

_ASIDE = "converted here"
"""The domain of nodes that the converter has no rule for, while it works."""

_ODD_EXTENT = 10_007
"""From here on numbers stand for extents that are not known: the converter takes numbers alone."""


def convert_old(skeleton: onnx.ModelProto, weights: Weights, source: Source) -> tuple[onnx.ModelProto, Weights]:
    """The model, and its weights with those that conversion adds.

    Raises UnsupportedError where onnx.version_converter does not convert it, InputError for an output that nothing
    makes, on which it ends the process.
    """
    versions = [i.version for i in skeleton.opset_import if i.domain in ("", "ai.onnx")]
    if not versions or not 0 < versions[0] < OLDEST_OPSET:
        return skeleton, weights
    graph = skeleton.graph
    names = {*weights, *(v.name for v in graph.input), *(o for node in graph.node for o in node.output)}
    for output in graph.output:
        if output.name not in names:
            raise InputError(
                f"{source.name} is not a valid ONNX model: Graph output {output.name!r} is not an output of any node "
                "in graph; export it again"
            )
    model = onnx.ModelProto()
    model.CopyFrom(skeleton)
    _with_numbers(model.graph)
    try:
        _rewrite(model)
        converted = version_converter.convert_version(model, _CONVERTED_OPSET)
    except Exception as error:  # ONNX's have no common class
        raise UnsupportedError(
            f"{source.name} uses ONNX opset {versions[0]}, and {OLDEST_OPSET} is the oldest supported; "
            f"onnx.version_converter does not convert it ({' '.join(str(error).split())}): export it again, with a "
            "newer opset"
        ) from None
    for node in converted.graph.node:
        node.domain = "" if node.domain == _ASIDE else node.domain
    imports = [i for i in converted.opset_import if i.domain != _ASIDE]
    del converted.opset_import[:]
    converted.opset_import.extend(imports)
    del converted.graph.value_info[:]
    for declared, original in (
        (converted.graph.input, skeleton.graph.input),
        (converted.graph.output, skeleton.graph.output),
    ):
        shapes = {v.name: v for v in original}
        for value in declared:
            if value.name in shapes:
                value.CopyFrom(shapes[value.name])
    return converted, {**{t.name: t for t in converted.graph.initializer}, **weights}


def _with_numbers(graph: onnx.GraphProto) -> None:
    """Numbers in place of free dimensions: one for each name."""
    fresh = count(_ODD_EXTENT)
    numbers: dict[str, int] = {}
    for value in (*graph.input, *graph.output):
        for d in value.type.tensor_type.shape.dim:
            if d.dim_value <= 0:
                number, symbol = next(fresh), symbol_of(d)
                d.dim_value = numbers.setdefault(symbol, number) if symbol else number


def _rewrite(model: onnx.ModelProto) -> None:
    """Nodes that the converter has no rule for, or a wrong one, as they are in opset 7 and in the domain _ASIDE."""
    constants = {n.output[0]: a.t for n in model.graph.node if n.op_type == "Constant" for a in n.attribute}
    constants |= {t.name: t for t in model.graph.initializer}
    known = Known(_ranks(model, constants), constants)
    nodes: list[onnx.NodeProto] = []
    for node in model.graph.node:
        if node.domain in ("", "ai.onnx") and node.op_type in _REWRITES:
            rewritten = _REWRITES[node.op_type](node, known)
            for made in rewritten:
                made.domain = _ASIDE
            nodes += rewritten
        else:
            nodes.append(node)
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(kept)
    model.opset_import.append(helper.make_opsetid(_ASIDE, 1))


Rewritten = list[onnx.NodeProto]


@dataclass(frozen=True)
class Known:
    """The numbers of dimensions, and the tensors of small constants, by name."""

    ranks: Mapping[str, int]
    constants: Mapping[str, onnx.TensorProto]

    def rank(self, name: str) -> int:
        if name not in self.ranks:
            raise ValueError(f"the rank of {name!r} is not known")
        return self.ranks[name]

    def integers(self, name: str) -> list[int]:
        """The elements of a constant, which the first versions of operators have as floats."""
        if name not in self.constants:
            raise ValueError(f"{name!r} is not a constant of few elements")
        return [int(n) for n in numpy_helper.to_array(self.constants[name]).reshape(-1)]


def _ranks(model: onnx.ModelProto, constants: Mapping[str, onnx.TensorProto]) -> Mapping[str, int]:
    """The numbers of dimensions, by the inference of newer operators: old ones have none."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for i in copy.opset_import:
        i.version = OLDEST_OPSET if i.domain in ("", "ai.onnx") else i.version
    for node in copy.graph.node:
        rewrite = _REWRITES.get(node.op_type)
        if rewrite in (_broadcast, _prelu, _tile) or node.domain == OWN_DOMAIN:  # the result is like the first operand
            node.domain = ""
            node.op_type = "Identity"
            del node.input[1:], node.attribute[:]
        elif node.op_type == "Reshape" and len(node.input) == 1:
            shape = [n for a in node.attribute if a.name == "shape" for n in a.ints]
            node.input.append(f"{node.output[0]}.shape")
            copy.graph.initializer.append(numpy_helper.from_array(np.asarray(shape, np.int64), node.input[1]))
        elif rewrite is not None:
            rewrite(node, Known({}, constants))
    typed = onnx.shape_inference.infer_shapes(copy).graph
    values = (*typed.input, *typed.value_info, *typed.output)
    ranks = {v.name: len(v.type.tensor_type.shape.dim) for v in values if v.type.tensor_type.HasField("shape")}
    return {**ranks, **{t.name: len(t.dims) for t in model.graph.initializer}}


def _broadcast(node: onnx.NodeProto, known: Known) -> Rewritten:
    """Add(a, b, axis=1, broadcast=1)   ->   Add(a, Unsqueeze(b)): the dimensions of b are those of a from `axis` on."""
    integers = {a.name: a.i for a in node.attribute}
    _without(node, "axis", "broadcast", "consumed_inputs")
    a, b = node.input
    if not integers.get("broadcast") or "axis" not in integers:
        return [node]
    return _spread(node, known.rank(a) - integers["axis"] % known.rank(a) - known.rank(b), known)


def _prelu(node: onnx.NodeProto, known: Known) -> Rewritten:
    """PRelu(x, slope)   ->   PRelu(x, Unsqueeze(slope)): the slopes are those of channels."""
    _without(node, "consumed_inputs")
    x, slope = node.input
    return _spread(node, known.rank(x) - 2 if known.rank(slope) == 1 else 0, known)


def _spread(node: onnx.NodeProto, behind: int, known: Known) -> Rewritten:
    """The node with so many dimensions of extent 1 behind those of its second operand."""
    if behind <= 0:
        return [node]
    b = node.input[1]
    spread = f"{node.output[0]}.{b}"
    node.input[1] = spread
    return [helper.make_node("Unsqueeze", [b], [spread], axes=[known.rank(b) + d for d in range(behind)]), node]


def _cast(node: onnx.NodeProto, _: Known) -> Rewritten:
    """to="FLOAT"   ->   to=1"""
    for a in node.attribute:
        if a.name == "to" and a.type == onnx.AttributeProto.STRING:
            a.CopyFrom(helper.make_attribute("to", onnx.TensorProto.DataType.Value(a.s.decode().upper())))
    return [node]


def _pad(node: onnx.NodeProto, _: Known) -> Rewritten:
    """paddings=...   ->   pads=..."""
    for a in node.attribute:
        a.name = "pads" if a.name == "paddings" else a.name
    return [node]


def _norm(node: onnx.NodeProto, _: Known) -> Rewritten:
    """p=2.0   ->   p=2"""
    for a in node.attribute:
        if a.name == "p" and a.type == onnx.AttributeProto.FLOAT:
            if not a.f.is_integer():
                raise ValueError(f"attribute p={a.f:g} of {node.op_type} is no whole number")
            a.CopyFrom(helper.make_attribute("p", int(a.f)))
    return [node]


def _split(node: onnx.NodeProto, known: Known) -> Rewritten:
    """Split(x, lengths)   ->   Split(x, split=[...])"""
    if len(node.input) > 1:
        _without(node, "split")
        node.attribute.append(helper.make_attribute("split", known.integers(node.input[1])))
        del node.input[1:]
    return [node]


def _tile(node: onnx.NodeProto, known: Known) -> Rewritten:
    """Tile(x, tiles, axis)   ->   Tile(x, [1, ..., tiles, ..., 1])"""
    if len(node.input) != 3:
        return [node]
    x, *counts = node.input
    (tiles,), (axis,) = map(known.integers, counts)
    repeats = np.ones(known.rank(x), np.int64)
    repeats[axis] = tiles
    name = f"{node.output[0]}.repeats"
    del node.input[1:]
    node.input.append(name)
    return [helper.make_node("Constant", [], [name], value=numpy_helper.from_array(repeats)), node]


def _recurrent(node: onnx.NodeProto, _: Known) -> Rewritten:
    """Without output_sequence: whether there is a first output says the same."""
    _without(node, "output_sequence")
    return [node]


def _batch_normalization(node: onnx.NodeProto, _: Known) -> Rewritten:
    """spatial=0   ->   Reshape(x, [0, -1]), in which each element of an image is a channel. Without is_test: whether
    there are further outputs, the statistics of a training, says the same; with is_test=1 there are none."""
    flags = {a.name: a.i for a in node.attribute}
    if flags.get("is_test"):
        del node.output[1:]
    _without(node, "consumed_inputs", "is_test", "spatial")
    if flags.get("spatial", 1):
        return [node]
    made: Rewritten = []
    own = node.output[0]

    def reshaped(value: str, shape: str, result: str) -> str:
        made.append(helper.make_node("Reshape", [value, shape], [result]))
        return result

    for name, shape in (("rows", [0, -1]), ("row", [-1])):
        tensor = numpy_helper.from_array(np.asarray(shape, np.int64))
        made.append(helper.make_node("Constant", [], [f"{own}.{name}"], value=tensor))
    shapes = [(value, f"{own}.{'row' if i else 'rows'}") for i, value in enumerate(node.input)]
    operands = [reshaped(value, shape, f"{own}.operand{i}") for i, (value, shape) in enumerate(shapes)]
    like, results = [*node.input[:2]], [*node.output]
    node.input[:] = operands
    node.output[:] = [f"{own}.result{i}" if name else "" for i, name in enumerate(results)]
    made.append(node)
    for i, name in enumerate(results):
        if name:
            made.append(helper.make_node("Shape", [like[i > 0]], [f"{own}.shape{i}"]))
            reshaped(node.output[i], f"{own}.shape{i}", name)
    return made


def _dropout(node: onnx.NodeProto, _: Known) -> Rewritten:
    """Without is_test, whose default says that it trains, and which many exporters left out: from opset 7 on it is the
    identity."""
    _without(node, "consumed_inputs", "is_test")
    return [node]


def _without(node: onnx.NodeProto, *names: str) -> None:
    kept = [a for a in node.attribute if a.name not in names]
    del node.attribute[:]
    node.attribute.extend(kept)


_REWRITES: Mapping[str, Callable[[onnx.NodeProto, Known], Rewritten]] = {
    **dict.fromkeys(("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"), _broadcast),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), _recurrent),
    **dict.fromkeys(("GlobalLpPool", "LpPool"), _norm),
    "BatchNormalization": _batch_normalization,
    "Cast": _cast,
    "Dropout": _dropout,
    "PRelu": _prelu,
    "Pad": _pad,
    "Split": _split,
    "Tile": _tile,
}
"""From the first versions of an operator to that of opset 7."""
