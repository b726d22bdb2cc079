"""The operators of MXNet, by name."""

from __future__ import annotations

from collections.abc import Mapping

from ..call import Handler
from . import elementwise, layers, movement

OPERATORS: Mapping[str, Handler] = {
    name: handler for family in (elementwise, layers, movement) for name, handler in family.OPERATORS.items()
}
