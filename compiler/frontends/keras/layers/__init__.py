"""The layers of Keras, by the names of their classes."""

from __future__ import annotations

from collections.abc import Mapping

from ..call import Handler
from . import activations, attention, conv_lstm, convolutions, images, merging, movement, normalisation, recurrent

LAYERS: Mapping[str, Handler] = {
    name: handler
    for family in (activations, attention, conv_lstm, convolutions, images, merging, movement, normalisation, recurrent)
    for name, handler in family.LAYERS.items()
}

JOINS_MASKS = frozenset({"Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract"})
"""Layers whose results have a mask where all of their operands do."""

PASSES_MASK = frozenset(
    {*activations.LAYERS, *movement.IDENTITIES, "BatchNormalization", "Dense", "GroupNormalization"}
    | {"LayerNormalization", "RMSNormalization", "TimeDistributed", "UnitNormalization"}
)
"""Layers whose results have the mask of their operand."""
