"""Storage types of operands, for operators whose results go by them."""

from __future__ import annotations

from collections.abc import Callable

import onnx

from ...dtypes import STORAGE_TYPES

_STATED = {
    ("", "CastLike"): (1, "to"),
    ("", "QuantizeLinear"): (2, "output_dtype"),
    ("com.microsoft", "QuantizeLinear"): (2, "output_dtype"),
    ("com.microsoft", "GatherBlockQuantized"): (0, "data_type"),
}
"""By operator an input, and the attribute that gives the number of its type in place of the type of its values."""


def state_type(node: onnx.NodeProto, type_of: Callable[[int], int | None]) -> dict[str, int]:
    """The attribute of a node that states of which storage type an input is: its value has the type that holds it.
    Empty where there is none. `type_of` gives the number of an input's type."""
    index, name = _STATED.get((node.domain, node.op_type), (len(node.input), ""))
    number = type_of(index) if index < len(node.input) else None
    return {} if number is None or number not in STORAGE_TYPES else {name: number}
