"""The operators, each defined once: a function from a `Call` to the tensors of its outputs.

An operator function names no target and no layout. The shape rule is the shape of what it returns.
"""

from __future__ import annotations

from collections.abc import Callable

from ..tensor import Tensor
from . import elementwise
from .call import Call

OperatorFn = Callable[[Call], "Tensor | tuple[Tensor, ...]"]

OPERATORS: dict[str, OperatorFn] = {
    **elementwise.OPERATORS,
}
"""ONNX operator type (default domain) -> its definition."""
