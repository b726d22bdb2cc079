"""Values rounded to those that quantised models have (FakeQuant): ranges are moved so that zero is exact."""

from __future__ import annotations

import numpy as np

from ..call import Call, Handler
from ..values import Array


def _fake(call: Call, low: Array, high: Array) -> str:
    """In float32, as TensorFlow's kernels compute it."""
    least = np.float32(1 if call.flag("narrow_range") else 0)
    most = np.float32(2 ** call.integer("num_bits", 8) - 1)
    low, high = low.astype(np.float32), high.astype(np.float32)
    if np.any(high < low):
        raise call.unsupported("its range ends before it begins")
    scale = ((high - low) / (most - least)).astype(np.float32)
    scale = np.where(scale == 0, np.float32(1), scale)
    zero = np.clip(np.floor((least - low / scale) + np.float32(0.5)), least, most).astype(np.float32)
    first, last = (least - zero) * scale, (most - zero) * scale
    constant = call.builder.constant
    held = call.node("Min", [call.node("Max", [call.read(0), constant(first, "low")]), constant(last, "high")])
    moved = call.node("Sub", [held, constant(first, "low")])
    steps = call.node("Mul", [moved, constant((1 / scale).astype(np.float32), "steps")])
    whole = call.node("Floor", [call.node("Add", [steps, call.number(0.5)])])
    return call.node("Add", [call.node("Mul", [whole, constant(scale, "scale")]), constant(first, "low")])


def _by_attributes(call: Call) -> str:
    return _fake(call, np.asarray(call.real("min", -6)), np.asarray(call.real("max", 6)))


def _by_operands(call: Call) -> str:
    """One range of all elements, or one of each channel, which is the last dimension."""
    return _fake(call, call.constant(1, "the range"), call.constant(2, "the range"))


OPERATORS: dict[str, Handler] = {
    "FakeQuantWithMinMaxArgs": _by_attributes,
    "FakeQuantWithMinMaxVars": _by_operands,
    "FakeQuantWithMinMaxVarsPerChannel": _by_operands,
}
