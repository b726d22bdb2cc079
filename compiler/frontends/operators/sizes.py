"""Operators on sizes of tensors that ONNX lacks."""

from __future__ import annotations

from collections.abc import Sequence

from ..converted_call import ConvertedCall


def broadcast_args(call: ConvertedCall, shapes: Sequence[str], ranks: Sequence[int]) -> str:
    """The shape that two shapes, int64 vectors of `ranks` sizes, are broadcast to: at each place from the end the
    larger size, or zero beside a zero."""
    missing = [max(ranks) - rank for rank in ranks]
    a, b = (
        call.node("Concat", [call.integers([1] * n), shape], axis=0) if n else shape
        for n, shape in zip(missing, shapes, strict=True)
    )
    # By arithmetic, which is also done on sizes that are known before a run.
    filled = call.node("Min", [call.node("Min", [a, b]), call.integers(1)])
    return call.node("Mul", [call.node("Max", [a, b]), filled])
