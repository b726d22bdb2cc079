"""Functions of each element of one operand."""

from __future__ import annotations

from typing import Any

from ...operators.elements import atan2
from ..call import Call, Handler


def unary(op: str, **attributes: Any) -> Handler:
    def convert(call: Call) -> str:
        return call.mapped(op, [call.read(0)], **attributes)

    return convert


def clip(call: Call, value: str, low: float, high: float) -> str:
    dtype = call.facts[value].dtype
    return call.mapped("Clip", [value], (call.number_of(low, dtype), call.number_of(high, dtype)))


def _relu6(call: Call) -> str:
    return clip(call, call.read(0), 0, 6)


def _rsqrt(call: Call) -> str:
    return call.mapped("Reciprocal", [call.mapped("Sqrt", [call.read(0)])])


def _square(call: Call) -> str:
    x = call.read(0)
    return call.mapped("Mul", [x, x])


def _expm1(call: Call) -> str:
    """Small numbers have 2 t / (1 - t), with t = tanh(x / 2): a difference to 1 would lose their digits."""
    x, one = call.read(0), call.number_like(1, 0)
    small = call.mapped("Clip", [x], (call.number_like(-1, 0), one))
    t = call.mapped("Tanh", [call.mapped("Mul", [small], (call.number_like(0.5, 0),))])
    left = call.mapped("Add", [call.mapped("Neg", [t])], (one,))
    fine = call.mapped("Div", [call.mapped("Add", [t, t]), left])
    plain = call.mapped("Sub", [call.mapped("Exp", [x])], (one,))
    near = call.mapped("Less", [call.mapped("Abs", [x])], (one,))
    return call.mapped("Where", [near, fine, plain])


def _log1p(call: Call) -> str:
    """x log(u) / (u - 1), with u = 1 + x as it is rounded: its error is that of the quotient alone (HP-15C Advanced
    Functions Handbook, appendix)."""
    x, one = call.read(0), call.number_like(1, 0)
    u = call.mapped("Add", [x], (one,))
    kept = call.mapped("Sub", [u], (one,))
    same = call.mapped("Equal", [kept], (call.number_like(0, 0),))
    safe = call.mapped("Where", [same, call.mapped("Add", [kept], (one,)), kept])
    log = call.mapped("Log", [u])
    usual = call.mapped("Mul", [log, call.mapped("Div", [x, safe])])
    infinite = call.mapped("IsInf", [x])
    return call.mapped("Where", [infinite, log, call.mapped("Where", [same, x, usual])])


def _erfc(call: Call) -> str:
    return call.mapped("Add", [call.mapped("Neg", [call.mapped("Erf", [call.read(0)])])], (call.number_like(1, 0),))


def _is_finite(call: Call) -> str:
    x = call.read(0)
    return call.mapped("Not", [call.mapped("Or", [call.mapped("IsNaN", [x]), call.mapped("IsInf", [x])])])


def _leaky_relu(call: Call) -> str:
    return call.mapped("LeakyRelu", [call.read(0)], alpha=call.real("alpha", 0.2))


def _along_last(op: str) -> Handler:
    def convert(call: Call) -> str:
        x = call.read(0)
        if x in call.images:
            return call.mapped(op, [x], axis=call.images.rank(x) - 1)
        return call.node(op, [x], axis=-1)

    return convert


def _cast(call: Call) -> str:
    """To integers towards zero, as ONNX has it."""
    return call.cast(call.read(0), call.type("DstT"))


def _atan2(call: Call) -> str:
    return atan2(call, call.read(0), call.read(1), lambda n: call.number_like(n, 0))


OPERATORS: dict[str, Handler] = {
    **{
        name: unary(name)
        for name in [
            "Abs",
            "Acos",
            "Acosh",
            "Asin",
            "Asinh",
            "Atan",
            "Atanh",
            "Ceil",
            "Cos",
            "Cosh",
            "Elu",
            "Erf",
            "Exp",
            "Floor",
            "IsInf",
            "Log",
            "Neg",
            "Relu",
            "Selu",
            "Sigmoid",
            "Sign",
            "Sin",
            "Sinh",
            "Softplus",
            "Softsign",
            "Sqrt",
            "Tan",
            "Tanh",
            "Round",
            "Reciprocal",
        ]
    },
    "Atan2": _atan2,
    "Cast": _cast,
    "Erfc": _erfc,
    "Expm1": _expm1,
    "Inv": unary("Reciprocal"),
    "Invert": unary("BitwiseNot"),
    "IsFinite": _is_finite,
    "IsNan": unary("IsNaN"),
    "LeakyRelu": _leaky_relu,
    "Log1p": _log1p,
    "LogSoftmax": _along_last("LogSoftmax"),
    "LogicalNot": unary("Not"),
    "Relu6": _relu6,
    "Rint": unary("Round"),
    "Rsqrt": _rsqrt,
    "Softmax": _along_last("Softmax"),
    "Square": _square,
}
