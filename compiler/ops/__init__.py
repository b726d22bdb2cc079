"""The operators, each defined once: a function from a `Call` to the tensors of its outputs.

An operator function names no target and no layout. The shape rule is the shape of what it returns.
"""

from __future__ import annotations

from collections.abc import Callable

from ..tensor import Tensor
from . import (
    activation,
    casting,
    comparison,
    elementwise,
    filling,
    gather,
    joining,
    logical,
    movement,
    padding,
    quantizing,
    reshaping,
    scanning,
    slicing,
)
from .call import Call

OperatorFn = Callable[[Call], "Tensor | tuple[Tensor, ...]"]

OPERATORS: dict[str, OperatorFn] = {
    **activation.OPERATORS,
    **casting.OPERATORS,
    **comparison.OPERATORS,
    **elementwise.OPERATORS,
    **filling.OPERATORS,
    **gather.OPERATORS,
    **joining.OPERATORS,
    **logical.OPERATORS,
    **movement.OPERATORS,
    **padding.OPERATORS,
    **quantizing.OPERATORS,
    **reshaping.OPERATORS,
    **scanning.OPERATORS,
    **slicing.OPERATORS,
}
"""ONNX operator type (default domain) -> its definition."""
