"""Einsum, as one contraction over every label that the result lacks."""

from __future__ import annotations

from ...ir.nodes import Const, Expr
from ...ir.sizes import Size, is_one, text_of
from ...tensor import Tensor, compute
from ..call import Call
from ..reductions.reduce_axes import reduce_over


def einsum(call: Call) -> Tensor:
    """ONNX Einsum: NumPy's einsum, with `...`, repeated labels and an implicit result."""
    operands = call.every_input()
    terms, result = _parse(call, [t.rank for t in operands])
    extents: dict[str, Size] = {}
    for term, t in zip(terms, operands, strict=True):
        for label, extent in zip(term, t.shape, strict=True):
            have = extents.get(label, 1)
            if not is_one(have) and not is_one(extent):
                reason = f"label {label!r} stands for {text_of(have)} and for {text_of(extent)} elements"
                call.check_equal(have, extent, reason, "check the input shapes")
            extents[label] = have if is_one(extent) else extent
    summed = [label for label in extents if label not in result]

    def body(*o: Expr) -> Expr:
        def product(*k: Expr) -> Expr:
            at = dict(zip((*result, *summed), (*o, *k), strict=True))
            factors = [
                t.read([Const(0) if is_one(extent) else at[label] for label, extent in zip(term, t.shape, strict=True)])
                for term, t in zip(terms, operands, strict=True)
            ]
            value = factors[0]
            for factor in factors[1:]:
                value = value * factor
            return value

        return reduce_over("sum", [extents[label] for label in summed], product)

    return compute(call.name, tuple(extents[label] for label in result), tuple(operands), body)


def _parse(call: Call, ranks: list[int]) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand and of the result; the dimensions of an ellipsis become labels "0", "1", ..."""
    equation = call.attribute("equation", "").replace(" ", "")
    left, arrow, right = equation.partition("->")
    texts = left.split(",")
    if len(texts) != len(ranks):
        raise call.unsupported(f"equation {equation!r} does not name {len(ranks)} operands", "the model is invalid")
    hidden = [
        rank - len(text.replace("...", "")) if "..." in text else 0 for text, rank in zip(texts, ranks, strict=True)
    ]
    widest = max(hidden, default=0)
    terms = [_labels(text, count, widest) for text, count in zip(texts, hidden, strict=True)]
    if any(len(term) != rank for term, rank in zip(terms, ranks, strict=True)):
        raise call.unsupported(f"equation {equation!r} does not fit ranks {ranks}", "the model is invalid")
    if arrow:
        return terms, _labels(right, widest, widest)
    named = sorted({c for c in left if c.isalpha() and left.count(c) == 1})
    return terms, [*(str(d) for d in range(widest)), *named]


def _labels(text: str, count: int, widest: int) -> list[str]:
    head, _, tail = text.partition("...")
    middle = [str(d) for d in range(widest - count, widest)] if "..." in text else []
    return [*head, *middle, *tail]


OPERATORS = {"Einsum": einsum}
