"""The operators of TensorFlow, by their names."""

from __future__ import annotations

from collections.abc import Mapping

from ..call import Handler
from . import (
    arithmetic,
    control_flow,
    elementwise,
    images,
    loops,
    movement,
    products,
    quantisation,
    reductions,
    sampling,
    selection,
    shapes,
    slices,
    tensor_arrays,
    tensor_lists,
)

OPERATORS: Mapping[str, Handler] = {
    name: handler
    for family in (
        arithmetic,
        control_flow,
        elementwise,
        images,
        loops,
        movement,
        products,
        quantisation,
        reductions,
        sampling,
        selection,
        shapes,
        slices,
        tensor_arrays,
        tensor_lists,
    )
    for name, handler in family.OPERATORS.items()
}
