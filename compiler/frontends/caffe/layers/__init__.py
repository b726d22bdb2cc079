"""The layers of Caffe, by the names of their types."""

from __future__ import annotations

from collections.abc import Mapping

from ..call import Handler
from . import activations, detection, movement, normalisation, products

LAYERS: Mapping[str, Handler] = {
    name: handler
    for family in (activations, detection, movement, normalisation, products)
    for name, handler in family.LAYERS.items()
}
