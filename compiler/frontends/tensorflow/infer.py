"""Facts of the results of ONNX's operators: element types, shapes as far as they are known, and the elements of small
vectors of integers, of which the sizes of shapes are computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from math import prod
from typing import Any

import numpy as np
import onnx

Array = np.ndarray
Sizes = tuple[int | None, ...]

_T = onnx.TensorProto
_LONGEST = 64
"""Elements of a vector of integers that is followed: as many as a shape has at most."""


@dataclass(frozen=True, slots=True)
class Fact:
    """`dtype` is ONNX's; of `shape` None is what is not known; `data` is a constant's, and `numbers` the elements of a
    scalar or vector of integers, each None where it is not known."""

    dtype: int
    shape: Sizes | None = None
    data: Array | None = None
    numbers: Sizes | None = None


def numbers_of(data: Array) -> Sizes | None:
    """The elements of a scalar or short vector of integers."""
    if data.ndim > 1 or data.size > _LONGEST or data.dtype.kind not in "iu":
        return None
    return tuple(int(n) for n in data.reshape(-1))


def infer(op: str, operands: Sequence[Fact], attributes: Mapping[str, Any], i: int, count: int) -> Fact:
    """The fact of result `i` of `count` of a node. Nothing is raised for operands that do not fit together."""
    dtype = operands[0].dtype if operands else 0
    if op in _COMPARING:
        dtype = _T.BOOL
    elif op == "Cast":
        dtype = int(attributes["to"])
    elif op in ("Where", "OneHot"):
        dtype = operands[-1].dtype
    elif op in ("Shape", "Size", "ArgMax", "ArgMin", "NonZero", "NonMaxSuppression") or (op == "TopK" and i == 1):
        dtype = _T.INT64
    shape: Sizes | None = None
    numbers: Sizes | None = None
    # What does not fit together is an error of the model, which the importer of ONNX reports.
    with suppress(ValueError, TypeError, LookupError, ArithmeticError, AttributeError):
        shape = _shape(op, operands, attributes, i, count)
    with suppress(ValueError, TypeError, LookupError, ArithmeticError):
        numbers = _computed(op, operands, attributes)
    if numbers is not None and shape is None and op == "Concat":
        shape = (len(numbers),)
    return Fact(dtype, shape, None, numbers if shape is not None and len(shape) <= 1 else None)


_COMPARING = ["And", "Or", "Xor", "Not", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "IsNaN", "IsInf"]
_BROADCAST = [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Max",
    "Min",
    "Mod",
    "And",
    "Or",
    "Xor",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Where",
    "PRelu",
    "Sum",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "BitShift",
]
_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Max": max,
    "Min": min,
    "Div": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "Mod": lambda a, b: a % b,
}


def _broadcast(shapes: Sequence[Sizes]) -> Sizes:
    def joined(sizes: tuple[int | None, ...]) -> int | None:
        wide = [n for n in sizes if n != 1]
        known = [n for n in wide if n is not None]
        return known[0] if known else None if wide else 1

    return tuple(joined(s) for s in zip_longest(*(s[::-1] for s in shapes), fillvalue=1))[::-1]


def _rank_only(rank: int) -> Sizes:
    return (None,) * rank


def _shape(op: str, operands: Sequence[Fact], a: Mapping[str, Any], i: int, count: int) -> Sizes | None:
    """The shape of result `i` of `count`. Where it is not known, None, or an exception."""
    shapes = [f.shape for f in operands]
    first = shapes[0] if shapes else None
    if op in _BROADCAST:
        return None if None in shapes else _broadcast([s for s in shapes if s is not None])
    if op == "Shape":
        return None if first is None else (len(first[_span(a)]),)
    if op in ("Size", "Range"):
        return () if op == "Size" else (None,)
    if op in ("Reshape", "Expand", "Tile", "Pad", "Resize"):
        return _sized(op, operands, a)
    if op in ("NonZero", "NonMaxSuppression"):
        return (None if first is None else len(first), None) if op == "NonZero" else (None, 3)
    if op == "OneHot":
        assert first is not None
        at = int(a["axis"]) % (len(first) + 1)
        return (*first[:at], (operands[1].numbers or (None,))[0], *first[at:])
    if op == "Gather":
        if first is None or shapes[1] is None:
            return None
        axis = int(a["axis"]) % len(first)
        return (*first[:axis], *shapes[1], *first[axis + 1 :])
    if op == "GatherND":
        if first is None or shapes[1] is None or shapes[1][-1] is None:
            return None
        return (*shapes[1][:-1], *first[int(a.get("batch_dims", 0)) + shapes[1][-1] :])
    if op in ("MatMul", "Gemm"):
        return _product(op, first, shapes[1], a)
    if op == "Einsum":
        return _rank_only(len(a["equation"].split("->")[1].strip())) if "." not in a["equation"] else None
    if op == "Concat":
        if None in shapes:
            return None
        whole = [s for s in shapes if s is not None]
        axis = int(a["axis"]) % len(whole[0])
        total = [s[axis] for s in whole]
        size = None if None in total else sum(n for n in total if n is not None)
        return tuple(size if d == axis else _broadcast([(s[d],) for s in whole])[0] for d in range(len(whole[0])))
    if first is None or op == "If":
        return None
    match op:
        case "Transpose":
            return tuple(first[int(p)] for p in a["perm"])
        case "Squeeze":
            axes = _axes(operands, len(first))
            if axes is None:
                return None if len(operands) > 1 or None in first else tuple(n for n in first if n != 1)
            return tuple(n for d, n in enumerate(first) if d not in axes)
        case "Unsqueeze":
            added = operands[1].numbers
            assert added is not None
            places = {int(d or 0) % (len(first) + len(added)) for d in added}
            rest = iter(first)
            return tuple(1 if d in places else next(rest) for d in range(len(first) + len(places)))
        case "Conv" | "ConvTranspose" | "MaxPool" | "AveragePool":
            return _window(op, operands, first, a)
        case "Slice":
            return _sliced(operands, first)
        case "Split":
            axis = int(a["axis"]) % len(first)
            sizes = operands[1].numbers if len(operands) > 1 else None
            n = first[axis]
            part = sizes[i] if sizes else None if n is None else n // count
            return (*first[:axis], part, *first[axis + 1 :])
        case "ArgMax" | "ArgMin" | "TopK":
            axis = int(a["axis"]) % len(first)
            if op == "TopK":
                return (*first[:axis], (operands[1].numbers or (None,))[0], *first[axis + 1 :])
            return tuple(n for d, n in enumerate(first) if d != axis)
        case "SpaceToDepth" | "DepthToSpace":
            return (first[0], *_rank_only(len(first) - 1))
    if op.startswith("Reduce"):
        reduced = _axes(operands, len(first))
        if len(operands) > 1 and reduced is None:
            return _rank_only(len(first)) if a.get("keepdims", 1) else None
        at_all = set(range(len(first))) if reduced is None else reduced
        if a.get("keepdims", 1):
            return tuple(1 if d in at_all else n for d, n in enumerate(first))
        return tuple(n for d, n in enumerate(first) if d not in at_all)
    return first  # of what is computed for each element


def _axes(operands: Sequence[Fact], rank: int) -> set[int] | None:
    if len(operands) < 2 or operands[1].numbers is None or None in operands[1].numbers:
        return None
    return {int(d or 0) % rank for d in operands[1].numbers}


def _sized(op: str, operands: Sequence[Fact], a: Mapping[str, Any]) -> Sizes | None:
    """The shape of a result of an operator with an operand of sizes."""
    first, numbers = operands[0].shape, operands[3 if op == "Resize" else 1].numbers
    length = operands[3 if op == "Resize" else 1].shape
    if op == "Resize":
        return numbers
    if numbers is None and length is not None and op != "Pad" and length[0] is not None:
        return _rank_only(length[0])
    if op == "Reshape":
        assert numbers is not None
        sizes = [first[d] if n == 0 and first is not None else n for d, n in enumerate(numbers)]
        if -1 in sizes:
            known = first is not None and None not in first and None not in sizes
            at = sizes.index(-1)
            rest = prod(n for d, n in enumerate(sizes) if d != at and n is not None)
            sizes[at] = prod(n for n in first or () if n is not None) // rest if known and rest else None
        return tuple(sizes)
    if op == "Expand":
        return None if first is None or numbers is None else _broadcast([first, numbers])
    if first is None:
        return None
    if numbers is None:
        return _rank_only(len(first))
    if op == "Tile":
        return tuple(None if n is None or r is None else n * r for n, r in zip(first, numbers, strict=True))
    ends = zip(first, numbers[: len(first)], numbers[len(first) :], strict=True)
    return tuple(None if n is None or b is None or e is None else n + b + e for n, b, e in ends)


def _product(op: str, x: Sizes | None, y: Sizes | None, a: Mapping[str, Any]) -> Sizes | None:
    if x is None or y is None or len(x) < 2 or len(y) < 2:
        return None
    rows, columns = x[-1 if a.get("transA") else -2], y[-2 if a.get("transB") else -1]
    return (*_broadcast([x[:-2], y[:-2]]), rows, columns)


def _window(op: str, operands: Sequence[Fact], x: Sizes, a: Mapping[str, Any]) -> Sizes:
    weights = operands[1].shape if len(operands) > 1 else None
    channels = x[1]
    if op == "Conv":
        channels = None if weights is None else weights[0]
    elif op == "ConvTranspose":
        channels = None if weights is None or weights[1] is None else weights[1] * int(a.get("group", 1))
    rank = len(x) - 2
    strides, dilations = a.get("strides", [1] * rank), a.get("dilations", [1] * rank)
    pads, added = a.get("pads", [0] * 2 * rank), a.get("output_padding", [0] * rank)
    found: list[int | None] = []
    for d, n in enumerate(x[2:]):
        k, s = (int(a["kernel_shape"][d]) - 1) * int(dilations[d]) + 1, int(strides[d])
        if n is None:
            found.append(None)
        elif op == "ConvTranspose":
            found.append((n - 1) * s + k - pads[d] - pads[d + rank] + added[d])
        elif a.get("auto_pad") == "SAME_UPPER":
            found.append(-(-n // s))
        else:
            found.append((n + pads[d] + pads[d + rank] - k) // s + 1)
    return (x[0], channels, *found)


def _sliced(operands: Sequence[Fact], x: Sizes) -> Sizes:
    """Extents are known where the numbers are."""
    starts, ends, axes, *steps = [f.numbers for f in operands[1:]]
    if axes is None or None in axes:
        return _rank_only(len(x))
    sizes = list(x)
    for at, axis in enumerate(axes):
        d = int(axis or 0) % len(x)
        n = x[d]
        begin, end = (None if s is None else s[at] for s in (starts, ends))
        step = 1 if not steps else None if steps[0] is None else steps[0][at]
        if begin == 0 and step == 1 and end is not None and end >= 2**31 - 1:
            continue
        known = n is not None and None not in (begin, end, step)
        sizes[d] = len(range(n or 0)[slice(begin, _end(end, step), step)]) if known else None
    return tuple(sizes)


def _end(end: int | None, step: int | None) -> int | None:
    """The end of a slice; what lies far before the first element is none."""
    return None if end is not None and end <= -(2**31) and step is not None and step < 0 else end


def _span(a: Mapping[str, Any]) -> slice:
    """The dimensions that a Shape gives."""
    return slice(a.get("start", 0), a.get("end"))


def _computed(op: str, operands: Sequence[Fact], a: Mapping[str, Any]) -> Sizes | None:
    """The elements of a scalar or vector of integers."""
    x = operands[0].numbers
    if op == "Shape":
        return operands[0].shape and operands[0].shape[_span(a)]
    if op == "Concat":
        parts = [f.numbers or (None,) * int((f.shape or (None,))[0] or 0) for f in operands]
        unknown = any(
            f.numbers is None and (f.shape is None or len(f.shape) != 1 or f.shape[0] is None) for f in operands
        )
        return None if unknown else tuple(n for part in parts for n in part)
    if op == "ReduceProd" and x is not None and len(operands) > 1:
        return (None if None in x else prod(n for n in x if n is not None),)
    if x is None:
        return None
    match op:
        case "Identity" | "Unsqueeze" | "Squeeze" | "Reshape":
            return x
        case "Cast":
            return x if a["to"] in (_T.INT32, _T.INT64) else None
        case "Neg":
            return tuple(None if n is None else -n for n in x)
        case "Gather":
            places = operands[1].numbers
            return None if places is None else tuple(None if p is None else x[p] for p in places)
        case "Slice":
            starts, ends = operands[1].numbers, operands[2].numbers
            steps = operands[4].numbers if len(operands) > 4 else (1,)
            if starts is None or ends is None or steps is None or None in (*starts, *ends, *steps):
                return None
            return x[slice(starts[0], _end(ends[0], steps[0]), steps[0])]
    if op in _ARITHMETIC and len(operands) == 2 and operands[1].numbers is not None:
        y = operands[1].numbers
        length = max(len(x), len(y))
        if len(x) not in (1, length) or len(y) not in (1, length):
            return None
        pairs = zip(x * (length // len(x)), y * (length // len(y)), strict=True)
        return tuple(None if p is None or q is None else _ARITHMETIC[op](p, q) for p, q in pairs)
    return None
