"""Reductions, running sums and places of extremes."""

from __future__ import annotations

from ..call import Call, Handler


def _reduce(op: str) -> Handler:
    def convert(call: Call) -> str:
        axes = [call.integers(call.ints("axes"))] if call.has("axes") else []
        return call.node(op, [call.read("x"), *axes], keepdims=int(call.flag("keep_dims")))

    return convert


def _arg(op: str) -> Handler:
    def convert(call: Call) -> str:
        axis, keep = call.integer("axis", -1), int(call.flag("keep_dims"))
        return call.as_result(call.node(op, [call.read("x")], axis=axis, keepdims=keep))

    return convert


def _cumsum(call: Call) -> str:
    flags = {name: int(call.flag(name)) for name in ("exclusive", "reverse")}
    return call.node("CumSum", [call.read("x"), call.integers(call.integer("axis", 0))], **flags)


OPERATORS: dict[str, Handler] = {
    "cumsum": _cumsum,
    "reduce_argmax": _arg("ArgMax"),
    "reduce_argmin": _arg("ArgMin"),
    "reduce_l1_norm": _reduce("ReduceL1"),
    "reduce_l2_norm": _reduce("ReduceL2"),
    "reduce_log_sum": _reduce("ReduceLogSum"),
    "reduce_log_sum_exp": _reduce("ReduceLogSumExp"),
    "reduce_max": _reduce("ReduceMax"),
    "reduce_mean": _reduce("ReduceMean"),
    "reduce_min": _reduce("ReduceMin"),
    "reduce_prod": _reduce("ReduceProd"),
    "reduce_sum": _reduce("ReduceSum"),
    "reduce_sum_square": _reduce("ReduceSumSquare"),
}
