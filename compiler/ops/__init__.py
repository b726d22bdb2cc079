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
    convolution,
    convolution_transpose,
    einsum,
    elementwise,
    filling,
    gather,
    joining,
    layer_normalisation,
    linear,
    logical,
    movement,
    normalisation,
    padding,
    pooling,
    quantizing,
    reduction,
    reshaping,
    resize,
    scanning,
    scattering,
    slicing,
    softmax,
)
from .call import Call

OperatorFn = Callable[[Call], "Tensor | tuple[Tensor, ...]"]

OPERATORS: dict[str, OperatorFn] = {
    **activation.OPERATORS,
    **casting.OPERATORS,
    **comparison.OPERATORS,
    **convolution.OPERATORS,
    **convolution_transpose.OPERATORS,
    **einsum.OPERATORS,
    **elementwise.OPERATORS,
    **filling.OPERATORS,
    **gather.OPERATORS,
    **joining.OPERATORS,
    **layer_normalisation.OPERATORS,
    **linear.OPERATORS,
    **logical.OPERATORS,
    **movement.OPERATORS,
    **normalisation.OPERATORS,
    **padding.OPERATORS,
    **pooling.OPERATORS,
    **quantizing.OPERATORS,
    **reduction.OPERATORS,
    **reshaping.OPERATORS,
    **resize.OPERATORS,
    **scanning.OPERATORS,
    **scattering.OPERATORS,
    **slicing.OPERATORS,
    **softmax.OPERATORS,
}
"""ONNX operator type (default domain) -> its definition."""
