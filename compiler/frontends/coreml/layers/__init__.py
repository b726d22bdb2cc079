"""The layers of neural networks, by the names of their parameters in the schema."""

from __future__ import annotations

from collections.abc import Mapping

from ..network_call import LayerHandler
from . import control_flow, elementwise, images, movement, places, products, recurrent, reductions

LAYERS: Mapping[str, LayerHandler] = {
    name: handler
    for family in (control_flow, elementwise, images, movement, places, products, recurrent, reductions)
    for name, handler in family.LAYERS.items()
}
