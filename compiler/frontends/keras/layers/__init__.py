"""The layers of Keras, by the names of their classes."""

from __future__ import annotations

from collections.abc import Mapping

from ..call import Handler
from . import activations, attention, convolutions, images, merging, movement, normalisation, recurrent

LAYERS: Mapping[str, Handler] = {
    name: handler
    for family in (activations, attention, convolutions, images, merging, movement, normalisation, recurrent)
    for name, handler in family.LAYERS.items()
}

USES_MASK = frozenset({"Attention", "Bidirectional", "GRU", "LSTM", "MultiHeadAttention", "SimpleRNN", "Softmax"})
"""Layers whose results go by the masks of their operands."""

PASSES_MASK = frozenset(
    {*activations.LAYERS, *merging.LAYERS, *movement.IDENTITIES, "BatchNormalization", "Dense", "GroupNormalization"}
    | {"LayerNormalization", "RMSNormalization", "TimeDistributed", "UnitNormalization"}
)
"""Layers whose results have the mask of their operand."""
