"""Reductions along axes."""

from __future__ import annotations

from ..call import Call, Handler


def _reduce(op: str) -> Handler:
    def convert(call: Call) -> None:
        rank = len(call.shape(0))
        axes = sorted({int(a) % max(rank, 1) for a in call.constant(1, "the axes").reshape(-1)})
        keep = int(call.options.KeepDims())
        x = call.read(0)
        if x in call.images:
            result = call.images.reduced(op, x, axes, bool(keep), call.stem)
        else:
            result = call.node(op, [x, call.integers(axes)], keepdims=keep) if axes else x
        call.write(result)

    return convert


def _reduce_boolean(op: str) -> Handler:
    def convert(call: Call) -> None:
        axes = [int(a) for a in call.constant(1, "the axes").reshape(-1)]
        numbers = call.cast(call.raw(0), "int32")
        result = call.node(op, [numbers, call.integers(axes)], keepdims=int(call.options.KeepDims()))
        call.store(call.cast(result, "bool"))

    return convert


def _arg(op: str) -> Handler:
    """Finds the first of equal elements."""

    def convert(call: Call) -> None:
        axis = int(call.constant(1, "the axis").reshape(-1)[0])
        found = call.node(op, [call.raw(0)], axis=axis, keepdims=0)
        call.store(call.cast(found, call.result().dtype))

    return convert


def _cumsum(call: Call) -> None:
    axis = int(call.constant(1, "the axis").reshape(-1)[0])
    o = call.options
    attributes = {"exclusive": int(o.Exclusive()), "reverse": int(o.Reverse())}
    call.write(call.node("CumSum", [call.read(0), call.integers(axis)], **attributes))


def _l2_normalization(call: Call) -> None:
    """Along the last axis; a sum of squares below 1e-12 counts as so much."""
    x = call.read(0)
    squares = call.node("ReduceSumSquare", [x, call.integers([-1])], keepdims=1)
    length = call.node("Sqrt", [call.node("Max", [squares, call.number(1e-12)])])
    call.write(call.activated(call.node("Div", [x, length]), call.options.FusedActivationFunction()))


OPERATORS: dict[str, Handler] = {
    "ARG_MAX": _arg("ArgMax"),
    "ARG_MIN": _arg("ArgMin"),
    "CUMSUM": _cumsum,
    "L2_NORMALIZATION": _l2_normalization,
    "MEAN": _reduce("ReduceMean"),
    "REDUCE_ALL": _reduce_boolean("ReduceMin"),
    "REDUCE_ANY": _reduce_boolean("ReduceMax"),
    "REDUCE_MAX": _reduce("ReduceMax"),
    "REDUCE_MIN": _reduce("ReduceMin"),
    "REDUCE_PROD": _reduce("ReduceProd"),
    "SUM": _reduce("ReduceSum"),
}
