"""Logic of bools and of the bits of integers."""

from __future__ import annotations

from ...ir.construct import minimum, select
from ...ir.nodes import binary
from ...tensor import Tensor
from ..broadcast import binary_operator, pointwise, unary_operator
from ..call import Call


def _bit_shift(call: Call) -> Tensor:
    """Shifts unsigned integers; 0 where the amount is the number of bits or more, as in NumPy: ONNX leaves that
    open."""
    direction = call.attribute("direction", "")
    op = {"LEFT": "shl", "RIGHT": "shr"}.get(direction)
    if op is None:
        raise call.unsupported(f"attribute direction={direction!r} is unknown", "use 'LEFT' or 'RIGHT'")
    x, amount = call.input(0), call.input(1)
    bits = x.dtype.bits
    if amount.data is not None and (amount.data < bits).all():
        return pointwise(call, lambda a, b: binary(op, a, b), x, amount)
    return pointwise(call, lambda a, b: select(b < bits, binary(op, a, minimum(b, bits - 1)), 0), x, amount)


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
