"""Sorting and searching."""

from __future__ import annotations

import numpy as np
import onnx

from ...suppressed_boxes import padded, suppressed
from ..call import Call, Handler

_INT32, _INT64 = onnx.TensorProto.INT32, onnx.TensorProto.INT64


def _where(call: Call) -> str:
    """The places of what is not zero, a row for each, int64."""
    return call.node("Transpose", [call.node("NonZero", [call.read(0)])], perm=[1, 0])


def _top_k(call: Call) -> list[str]:
    values, indices = call.nodes("TopK", [call.read(0), call.sizes(1)], 2, axis=-1)
    return [values, call.cast(indices, call.type("index_type", _INT32))]


def _suppressed(call: Call, operands: int) -> str:
    return suppressed(call, call.read(0), call.read(1), call.sizes(2), [call.read(i) for i in range(3, operands)])


def _non_max_suppression(call: Call) -> str:
    return call.cast(_suppressed(call, min(len(call.operands), 5)), _INT32)


def _padded(call: Call, values: str) -> str:
    """`values` and zeros, as many as there may be, where the node says so."""
    if not call.flag("pad_to_max_output_size"):
        return values
    return padded(call, values, call.sizes(2), call.number_of(0, call.facts[values].dtype))


def _non_max_suppression_v4(call: Call) -> list[str]:
    found = _suppressed(call, 5)
    return [call.cast(_padded(call, found), _INT32), _count(call, found)]


def _non_max_suppression_v5(call: Call) -> list[str]:
    """Scores stay as they are: none is lowered by what it overlaps."""
    sigma = call.known(5)
    if sigma is None or np.any(sigma != 0):
        raise call.unsupported("scores of boxes that overlap are lowered (soft_nms_sigma)")
    found = _suppressed(call, 5)
    scores = call.node("Gather", [call.read(1), found], axis=0)
    return [call.cast(_padded(call, found), _INT32), _padded(call, scores), _count(call, found)]


def _count(call: Call, found: str) -> str:
    return call.cast(call.node("Size", [found]), _INT32)


OPERATORS: dict[str, Handler] = {
    "NonMaxSuppressionV2": _non_max_suppression,
    "NonMaxSuppressionV3": _non_max_suppression,
    "NonMaxSuppressionV4": _non_max_suppression_v4,
    "NonMaxSuppressionV5": _non_max_suppression_v5,
    "TopKV2": _top_k,
    "Where": _where,
}
