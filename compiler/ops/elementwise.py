"""Arithmetic and mathematics, element by element, with broadcasting (ONNX opset 7 and later)."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.nodes import Expr, unary
from ..tensor import Tensor
from .broadcast import pointwise
from .call import Call


def _binary(fn: Callable[[Expr, Expr], Expr]) -> Callable[[Call], Tensor]:
    return lambda call: pointwise(call, fn, call.input(0), call.input(1))


def _unary(fn: Callable[[Expr], Expr]) -> Callable[[Call], Tensor]:
    return lambda call: pointwise(call, fn, call.input(0))


def _math(op: str) -> Callable[[Call], Tensor]:
    return _unary(lambda x: unary(op, x))


OPERATORS = {
    "Add": _binary(lambda a, b: a + b),
    "Exp": _math("exp"),
}
