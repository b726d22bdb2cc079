"""Mathematical functions become arithmetic: no target of ours needs a maths library, and results are the same on all.

Every function is written for float32 and for any number of lanes, some for float64, too (`double_functions`). Errors
stated are the largest seen over the argument range against float64, in units in the last place (ulp), or absolute where
the result is near zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..dtypes import F32, F64, I32, DType
from ..errors import UnsupportedError
from ..ir.facts import range_of
from ..ir.lanes import Splat, lanes_of
from ..ir.nodes import Binary, Const, Expr, Kernel, Node, Select, Unary
from ..ir.reduction import WITHOUT_NAN
from ..ir.rewrite import N, rewrite, rewrite_top_down
from . import angles, double_functions
from . import math_functions as functions
from .double_functions import DOUBLE_FUNCTIONS
from .float_remainder import float_remainder

FLOAT_FUNCTIONS: dict[str, Callable[[functions.Num], functions.Num]] = {
    "exp": functions.exp,
    "log": functions.log,
    "log1p": functions.log1p,
    "tanh": functions.tanh,
    "erf": functions.erf,
    "sin": angles.sin,
    "cos": angles.cos,
    "tan": angles.tan,
    "asin": functions.asin,
    "acos": functions.acos,
    "atan": functions.atan,
    "sinh": functions.sinh,
    "cosh": functions.cosh,
    "asinh": functions.asinh,
    "acosh": functions.acosh,
    "atanh": functions.atanh,
}

OPERATIONS = frozenset({Unary, Binary})
"""Kinds of expressions that a function may be."""

LEVEL = frozenset({"erf", "tanh"})
"""Functions that an argument moves little: |x f'(x)| < 0.5, so a rounding of it costs 3e-8."""


def lower_math(kernel: Kernel) -> Kernel:
    """exp(x)   ->   polynomial in x, exponent put together from bits; likewise integer powers and safe division."""
    body = lower_functions(kernel.body, ", ".join(kernel.origin.nodes) or kernel.name)
    return kernel if body is kernel.body else replace(kernel, body=body)


def lower_functions(node: N, where: str) -> N:
    """Lowers the functions in a statement or an expression; `where` names it in messages."""

    def rule(n: object) -> Expr | None:
        match n:
            case Unary(op, a) if a.dtype == F64 and op in DOUBLE_FUNCTIONS:
                return DOUBLE_FUNCTIONS[op](functions.Num(a, lanes_of(a))).e
            case Unary(op, a) if op in FLOAT_FUNCTIONS:
                _need_float32(where, op, a.dtype)
                argument = _by_reciprocal(a) if op in LEVEL else a
                return FLOAT_FUNCTIONS[op](functions.Num(argument, lanes_of(a))).e
            case Unary("isnan", a):
                return Binary("!=", a, a)
            case Binary("max_nan" | "min_nan", a, b):
                return Select(Binary("!=", b, b), b, Binary(WITHOUT_NAN[n.op], a, b))
            case Unary("isinf", a):
                return Binary("==", Unary("abs", a), _like(float("inf"), a))
            case Binary("pow", a, b) if a.dtype.is_float:
                wide = max(lanes_of(a), lanes_of(b))
                x, y = functions.Num(a, wide), functions.Num(b, wide)
                if a.dtype == F64:
                    return double_functions.power(x, y).e
                _need_float32(where, "pow", a.dtype)
                return functions.power(x, y).e
            case Binary("pow", a, b):
                return _integer_power(a, b)
            case Binary("fmod", a, b) if a.dtype.is_float:
                return float_remainder(functions.Num(a, lanes_of(a)), functions.Num(b, lanes_of(b))).e
            case Binary("//" | "%" | "fmod" | "/", a, b) if a.dtype.is_int:
                return _integer_division(n.op, a, b)
            case Binary("//", a, b):
                return Unary("floor", a / b)
            case Binary("%", a, b):
                return a - Unary("floor", a / b) * b
        return None

    return rewrite(_truncate(node), rule, OPERATIONS)


def _by_reciprocal(e: Expr) -> Expr:
    """x / 8   ->   x * 0.125: a division takes as long as five products."""
    match e:
        case Binary("/", a, b) if (c := constant_value(b)) is not None and 1e-30 < abs(c) < 1e30:
            return Binary("*", a, _like(1.0 / c, a))
    return e


def _truncate(node: N) -> N:
    """Quotients and remainders of indices, which are known not to be negative, without a correction of the sign."""

    def rule(n: Node) -> Node | None:
        match n:
            case Binary("//" | "%", a, Const(divisor)) if a.dtype == I32 and int(divisor) > 0:
                bounds = range_of(a)
                if bounds is None or bounds[0] < 0:
                    return None
                dividend = _truncate(a)
                quotient = Binary("/", dividend, n.b)
                return quotient if n.op == "//" else dividend - quotient * n.b
        return None

    return rewrite_top_down(node, rule)


def _need_float32(where: str, op: str, dtype: DType) -> None:
    if dtype != F32:
        raise UnsupportedError(
            f"{op} on {dtype} (node {where}): only float32 is supported; convert the model to float32"
        )


def _like(value: float, e: Expr) -> Expr:
    constant: Expr = Const(value if e.dtype.is_float else int(value), e.dtype)
    lanes = lanes_of(e)
    return Splat(constant, lanes) if lanes > 1 else constant


def constant_value(e: Expr) -> int | float | None:
    if isinstance(e, Splat):
        e = e.a
    return e.value if isinstance(e, Const) else None


def _integer_division(op: str, a: Expr, b: Expr) -> Expr | None:
    """Division that never traps: by zero it is division by one (nowhere defined), and the quotient of the
    least integer by -1 wraps. `/` truncates, `//` and `%` round down, `fmod` has the sign of the dividend."""
    constant = constant_value(b)
    unsigned = a.dtype.kind != "int"
    if constant is not None and constant not in (0, -1):
        divisor, quotient = b, Binary("/", a, b)
        if op == "/":
            return None
    else:
        one, zero = _like(1, b), _like(0, b)
        divisor = Select(Binary("==", b, zero), one, b)
        quotient = Binary("/", a, divisor)
        if not unsigned:
            minus = Binary("==", b, _like(-1, b))
            safe = Select(minus, one, divisor)
            quotient = Binary("/", a, safe)
            whole = Select(minus, Binary("-", zero, a), quotient)
            return _rounded(op, a, divisor, whole, unsigned)
        if op == "/":
            return quotient
    return _rounded(op, a, divisor, quotient, unsigned)


def _rounded(op: str, a: Expr, b: Expr, quotient: Expr, unsigned: bool) -> Expr:
    rest = a - quotient * b
    zero = _like(0, a)
    if op == "/":
        return quotient
    if op == "fmod" or (unsigned and op == "%"):
        return rest
    if unsigned:
        return quotient
    down = Binary("!=", rest, zero) & Binary("<", rest ^ b, zero)
    if op == "//":
        return Select(down, quotient - 1 if lanes_of(a) == 1 else quotient - _like(1, a), quotient)
    return Select(down, rest + b, rest)


def _integer_power(a: Expr, b: Expr) -> Expr:
    """By squaring, for exponents from 0 to 63."""
    result, base = _like(1, a), a
    zero = _like(0, b)
    for bit in range(6):
        on = Binary("!=", Binary("and", b, _like(1 << bit, b)), zero)
        result = Select(on, result * base, result)
        base = base * base
    return result
