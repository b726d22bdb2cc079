"""The operators of TFLite, by their names in the schema, or by those of custom ones."""

from __future__ import annotations

from collections.abc import Mapping

from ..call import Handler
from . import (
    arithmetic,
    control_flow,
    detection,
    images,
    movement,
    products,
    recurrent,
    reductions,
    segments,
    selection,
)

OPERATORS: Mapping[str, Handler] = {
    name: handler
    for family in (arithmetic, control_flow, images, movement, products, recurrent, reductions, segments, selection)
    for name, handler in family.OPERATORS.items()
}

CUSTOM: Mapping[str, Handler] = {**detection.CUSTOM, **images.CUSTOM}
