"""Reductions along axes."""

from __future__ import annotations

import onnx

from ..call import Call, Handler


def _reduced(call: Call, op: str, value: str) -> str:
    keep = call.flag("keep_dims")
    axes = call.known(1)
    if axes is None:
        return call.node(op, [value, call.sizes(1)], keepdims=int(keep))
    listed = [int(n) for n in axes.reshape(-1)]
    if not listed:
        return value
    if value in call.images:
        return call.images.reduced(op, value, listed, keep, call.stem)
    return call.node(op, [value, call.integers(listed)], keepdims=int(keep))


def _reduce(op: str) -> Handler:
    def convert(call: Call) -> str:
        return _reduced(call, op, call.read(0))

    return convert


def _reduce_boolean(op: str) -> Handler:
    def convert(call: Call) -> str:
        numbers = call.cast(call.read(0), onnx.TensorProto.INT32)
        return call.cast(_reduced(call, op, numbers), onnx.TensorProto.BOOL)

    return convert


def _arg(op: str) -> Handler:
    """Finds the first of equal elements."""

    def convert(call: Call) -> str:
        axis = call.listed(1, "the axis")[0]
        found = call.node(op, [call.read(0)], axis=axis, keepdims=0)
        return call.cast(found, call.type("output_type", onnx.TensorProto.INT64))

    return convert


def _cumsum(call: Call) -> str:
    attributes = {"exclusive": int(call.flag("exclusive")), "reverse": int(call.flag("reverse"))}
    return call.node("CumSum", [call.read(0), call.scalar(1, onnx.TensorProto.INT64)], **attributes)


def _l2_loss(call: Call) -> str:
    """Half the sum of squares of all elements."""
    x = call.read(0)
    whole = call.node("ReduceSumSquare", [x], keepdims=0)
    return call.node("Mul", [whole, call.number_like(0.5, 0)])


OPERATORS: dict[str, Handler] = {
    "All": _reduce_boolean("ReduceMin"),
    "Any": _reduce_boolean("ReduceMax"),
    "ArgMax": _arg("ArgMax"),
    "ArgMin": _arg("ArgMin"),
    "Cumsum": _cumsum,
    "EuclideanNorm": _reduce("ReduceL2"),
    "L2Loss": _l2_loss,
    "Max": _reduce("ReduceMax"),
    "Mean": _reduce("ReduceMean"),
    "Min": _reduce("ReduceMin"),
    "Prod": _reduce("ReduceProd"),
    "Sum": _reduce("ReduceSum"),
}
