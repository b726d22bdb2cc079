"""Logic of bools and of the bits of integers."""

from __future__ import annotations

from ..ir.nodes import binary
from ..tensor import Tensor
from .broadcast import binary_operator, pointwise, unary_operator
from .call import Call


def _bit_shift(call: Call) -> Tensor:
    """Of unsigned integers; the amounts are less than the number of bits."""
    direction = call.attribute("direction", "")
    op = {"LEFT": "shl", "RIGHT": "shr"}.get(direction)
    if op is None:
        raise call.unsupported(f"attribute direction={direction!r} is unknown", "use 'LEFT' or 'RIGHT'")
    return pointwise(call, lambda a, b: binary(op, a, b), call.input(0), call.input(1))


OPERATORS = {
    "And": binary_operator(lambda a, b: a & b),
    "Or": binary_operator(lambda a, b: a | b),
    "Xor": binary_operator(lambda a, b: a ^ b),
    "Not": unary_operator(lambda x: ~x),
    "BitwiseAnd": binary_operator(lambda a, b: a & b),
    "BitwiseOr": binary_operator(lambda a, b: a | b),
    "BitwiseXor": binary_operator(lambda a, b: a ^ b),
    "BitwiseNot": unary_operator(lambda x: ~x),
    "BitShift": _bit_shift,
}
