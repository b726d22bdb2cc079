"""The elements of what a node computes of constants alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..dtypes import F16, F32, ONNX_NUMBERS
from ..ops.elementwise.random_numbers import OPERATORS as RANDOM
from ..tensor import Tensor
from ..tensor.computed_sizes import Sizes, definition
from ..tensor.evaluate import evaluate
from .define import define, tensor_of
from .ir import Array, Attribute, Node, Value

_TYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_dtype", "stash_type"})


def evaluate_folded(
    node: Node, tensors: Sequence[Tensor], named: Sequence[str], constants: Mapping[Value, Array], sizes: Sizes
) -> list[Array | None]:
    """The elements of `tensors`, those of `node`, where a name says that they are read, given the constants that it
    reads, and the `sizes` of their shapes. Of float16 they are computed in float32, as on every target, and rounded
    once: a sum of squares may exceed float16 where its root does not. Random numbers are drawn as their type has
    them."""
    halves = any(v.dtype == F16 for v in node.reads) or any(t.dtype == F16 for t in tensors)
    if halves and node.op not in RANDOM and not node.regions and all(v in constants for v in node.reads):
        wide = {v: replace(v, dtype=F32) if v.dtype == F16 else v for v in node.reads}
        operands = {wide[v]: tensor_of(wide[v], widened(constants[v])) for v in node.reads}
        inputs = tuple(None if v is None else wide[v] for v in node.inputs)
        wider = replace(node, inputs=inputs, attributes=widened_attributes(node.attributes))
        with definition(node.name) as defined:
            made, sizes = define(wider, operands, begun=True), defined.sizes
    else:
        made = tuple(tensors)
    with np.errstate(over="ignore"):  # beyond float16 is infinity
        return [
            evaluate(new, sizes=sizes).astype(old.dtype.numpy, copy=False) if name else None
            for new, old, name in zip(made, tensors, named, strict=False)
        ]


def widened(data: Array) -> Array:
    return data.astype(np.float32) if data.dtype == np.float16 else data


def widened_attributes(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """With float32 in place of float16 wherever an attribute names a type or holds elements."""
    result: dict[str, Attribute] = {}
    for name, value in attributes.items():
        if name in _TYPE_ATTRIBUTES and value == ONNX_NUMBERS[F16]:
            value = ONNX_NUMBERS[F32]
        elif isinstance(value, np.ndarray):
            value = widened(value)
        result[name] = value
    return result
