"""Operators that compute each row of their results from one row of their operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from ..graph.ir import Array, Node, Value
from ..ir.sizes import Size, equal
from ..ops.elementwise import activation, arithmetic, comparison, logical

Constants = Mapping[Value, Array]
Rows = dict[int, int]
"""The places of the inputs that have rows, each with their dimension there."""

Rule = Callable[[Node, int, Constants], Rows | None]
"""From the dimension of the rows in all outputs; None where rows mix."""

RESHAPES = ("Reshape", "Squeeze", "Unsqueeze", "Flatten")


def rows_of(node: Node, axis: int, constants: Constants) -> Rows | None:
    """By the rule of the node's operator; None for an operator without one."""
    rule = _RULES.get(node.op)
    return None if rule is None or node.definition is not None else rule(node, axis, constants)


def _elements(node: Node, axis: int, _: Constants) -> Rows:
    """Operands are broadcast: those that have the rows have them as far from the last dimension as the result."""
    behind = len(_result(node).shape) - axis
    places = {i: len(v.shape) - behind for i, v in enumerate(node.inputs) if v is not None}
    return {i: own for i, own in places.items() if own >= 0 and not equal(_input(node, i).shape[own], 1)}


def _where(condition: Callable[[Node, int, Constants], bool], rule: Rule = _elements) -> Rule:
    return lambda node, axis, constants: rule(node, axis, constants) if condition(node, axis, constants) else None


def _result(node: Node) -> Value:
    return next(v for v in node.outputs if v is not None)


def _input(node: Node, index: int) -> Value:
    v = node.inputs[index]
    assert v is not None
    return v


def _rank(node: Node) -> int:
    return len(_input(node, 0).shape)


def _int(node: Node, name: str, default: int) -> int:
    value = node.attributes.get(name, default)
    assert isinstance(value, int)
    return value


def _behind(node: Node, axis: int, default: int) -> bool:
    """Whether the attribute `axis` is a dimension behind the rows."""
    return _int(node, "axis", default) % _rank(node) > axis


def _softmax(node: Node, axis: int, _: Constants) -> bool:
    """Before version 13 dimensions from an axis on are one line, by default from the second one on."""
    return _behind(node, axis, -1 if node.opset >= 13 else 1)


def _reduces(node: Node, axis: int, constants: Constants) -> bool:
    axes = _axes(node, 1, constants)
    return bool(axes) and min(axes) > axis and _int(node, "keepdims", 1) != 0


def _slices(node: Node, axis: int, constants: Constants) -> bool:
    axes = _axes(node, 3, constants)
    return bool(axes) and axis not in axes


def _axes(node: Node, index: int, constants: Constants) -> list[int]:
    """The axes of the attribute or of the input with this number; none where they are not known."""
    given = node.attributes.get("axes", ())
    operand = node.inputs[index] if index < len(node.inputs) else None
    if operand in constants and operand is not None:
        given = tuple(map(int, constants[operand].ravel()))
    assert isinstance(given, tuple)
    return [int(a) % _rank(node) for a in given]


def _product_of(b: int, *alike: int) -> Rule:
    """Rows of the product are those of the first operand, input `b` is the second. Scales and zero points `alike` are
    one for all rows."""

    def rule(node: Node, axis: int, _: Constants) -> Rows | None:
        rank, given = _rank(node), [node.inputs[i] for i in alike if i < len(node.inputs)]
        fits = axis == len(_result(node).shape) - 2 and rank > 1 and len(_input(node, b).shape) > 1
        return {0: rank - 2} if fits and all(v is None or _is_one(v) for v in given) else None

    return rule


def _is_one(v: Value) -> bool:
    return all(equal(n, 1) for n in v.shape)


def _in_order(node: Node, axis: int, _: Constants) -> bool:
    return not _int(node, "transA", 0) and not _int(node, "transBatchA", 0)


def _of_blocks(node: Node, axis: int, _: Constants) -> Rows | None:
    """Products with weights in blocks of few bits, which have no other dimension than rows and columns."""
    return {0: axis} if axis < _rank(node) - 1 else None


def _gemm(node: Node, axis: int, _: Constants) -> Rows | None:
    added = node.inputs[2] if len(node.inputs) > 2 else None
    along = added is not None and len(added.shape) == 2 and not equal(added.shape[0], 1)
    return None if axis else {0: 0, 2: 0} if along else {0: 0}


def _quanta(node: Node, axis: int, _: Constants) -> Rows | None:
    """One scale, or one for each element of another dimension than that of the rows."""
    scale = _input(node, 1)
    along = len(scale.shape) == 1 and _int(node, "axis", 1) % _rank(node) != axis and not _int(node, "block_size", 0)
    return {0: axis} if _is_one(scale) or along else None


def _transposed(node: Node, axis: int, _: Constants) -> Rows | None:
    perm = node.attributes.get("perm", tuple(reversed(range(_rank(node)))))
    assert isinstance(perm, tuple)
    return {0: int(perm[axis])}


def _reshaped(node: Node, axis: int, _: Constants) -> Rows | None:
    """The dimension of the operand that the rows are: as many elements are before it as in the result, and behind."""
    shape, given = _result(node).shape, _input(node, 0).shape
    around = _around(shape, axis)
    same = [d for d, n in enumerate(given) if equal(n, shape[axis]) and _around(given, d) == around]
    return {0: same[0]} if around is not None and same else None


def _around(shape: Sequence[Size], axis: int) -> tuple[int, int] | None:
    """How many elements the dimensions before one have, and those behind it; None where that varies."""
    before, behind = ([n for n in part if isinstance(n, int)] for part in (shape[:axis], shape[axis + 1 :]))
    return (prod(before), prod(behind)) if len(before) + len(behind) == len(shape) - 1 else None


def _joined(node: Node, axis: int, _: Constants) -> Rows | None:
    return dict.fromkeys(range(len(node.inputs)), axis) if _behind(node, axis, 0) else None


def _split(node: Node, axis: int, _: Constants) -> Rows | None:
    return {0: axis} if _behind(node, axis, 0) else None


_ELEMENTWISE = {op for family in (activation, arithmetic, comparison, logical) for op in family.OPERATORS}
_ELEMENTWISE |= {"Cast", "CastLike", "Identity"}
_ELEMENTWISE |= {f"com.microsoft.{op}" for op in ("BiasGelu", "FastGelu", "Gelu", "QuickGelu")}

_NORMALISATIONS = ("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization", "LpNormalization")
_WITH_SKIP = ("com.microsoft.SkipLayerNormalization", "com.microsoft.SkipSimplifiedLayerNormalization")
_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")

_RULES: dict[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE, _elements),
    **dict.fromkeys(_NORMALISATIONS, _where(lambda node, axis, _: _behind(node, axis, -1))),
    **dict.fromkeys(_WITH_SKIP, _where(lambda node, axis, _: axis < _rank(node) - 1)),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _where(_softmax)),
    **dict.fromkeys([f"Reduce{kind}" for kind in _REDUCTIONS], _where(_reduces)),
    "MatMul": _product_of(1),
    "MatMulInteger": _product_of(1, 2),
    "QLinearMatMul": _product_of(3, 1, 2, 6, 7),
    "com.microsoft.MatMulIntegerToFloat": _product_of(1, 2, 4),
    "com.microsoft.FusedMatMul": _where(_in_order, _product_of(1)),
    "com.microsoft.MatMulNBits": _of_blocks,
    "com.microsoft.MatMulBnb4": _of_blocks,
    "Gemm": _where(_in_order, _gemm),
    "QuantizeLinear": _quanta,
    "DequantizeLinear": _quanta,
    "Transpose": _transposed,
    "Slice": _where(_slices, lambda node, axis, _: {0: axis}),
    "Split": _split,
    "Concat": _joined,
    **dict.fromkeys(RESHAPES, _reshaped),
}
