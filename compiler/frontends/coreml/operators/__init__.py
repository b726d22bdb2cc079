"""The operations of ML programs, by their types."""

from __future__ import annotations

from collections.abc import Mapping

from ..call import Handler
from . import compression, control_flow, elementwise, images, movement, products, recurrent, reductions, selection

OPERATORS: Mapping[str, Handler] = {
    name: handler
    for family in (
        compression,
        control_flow,
        elementwise,
        images,
        movement,
        products,
        recurrent,
        reductions,
        selection,
    )
    for name, handler in family.OPERATORS.items()
}
