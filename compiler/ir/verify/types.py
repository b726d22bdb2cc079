"""Types of expressions: dtypes and lanes of operands, constants that fit, nodes that no kernel holds."""

from __future__ import annotations

from collections.abc import Iterator

from ...dtypes import BOOL, F32, I32
from ..all_reduce import AllReduce
from ..lanes import Extract, Lanes, Ramp, Splat, lanes_of
from ..nodes import Binary, Bitcast, Const, Expr, Load, Select, Unary
from ..reduction import WITHOUT_NAN, Reduce
from ..scalar_ops import DOTS
from .place import shown

LOGIC = frozenset({"and", "or", "xor"})
SHIFTS = frozenset({"shl", "shr"})

RELAXED = frozenset({"relaxed_max", "relaxed_min"})
"""Further operations of LLVM for wasm with relaxed SIMD, on vectors of four float32."""


def check_types(e: Expr) -> Iterator[str]:
    """Problems of `e` over its operands; not those of the operands."""
    if len({lanes_of(x) for x in _lockstep(e)}) > 1:
        yield f"the lanes of operands differ: {shown(e)}"
    match e:
        case Const(value, dtype) if not dtype.is_float and not _fits(e):
            yield f"{value} is no {dtype}"
        case Unary(op, a) if (op == "not") > (a.dtype == BOOL or a.dtype.is_int):
            yield f"not of {a.dtype}: {shown(e)}"
        case Binary(op, a, b):
            if op in DOTS:
                if a.dtype != I32 or b.dtype not in DOTS[op].words.values():
                    yield f"{op} of {a.dtype} and {b.dtype}: {shown(e)}"
            elif a.dtype != b.dtype:
                yield f"operands of {op} are {a.dtype} and {b.dtype}: {shown(e)}"
            if op in RELAXED and (a.dtype, lanes_of(a)) != (F32, 4):
                yield f"{op} of what is no vector of four float32: {shown(e)}"
            if op in WITHOUT_NAN and not a.dtype.is_float:
                yield f"{op} of {a.dtype}, which has no NaN: {shown(e)}"
            if op in LOGIC | SHIFTS and a.dtype.is_float:
                yield f"{op} of {a.dtype}: {shown(e)}"
        case Select(cond, a, b) if cond.dtype != BOOL or a.dtype != b.dtype:
            yield f"a selection by {cond.dtype} of {a.dtype} or {b.dtype}: {shown(e)}"
        case Bitcast(dtype, a) if dtype.bits != a.dtype.bits:
            yield f"{a.dtype} read as the bits of {dtype}: {shown(e)}"
        case Extract(a, lane) if not 0 <= lane < lanes_of(a):
            yield f"there is no such lane: {shown(e)}"
        case Ramp(a, _) | Splat(a, _) if lanes_of(a) != 1:
            yield f"a vector of vectors: {shown(e)}"
        case Lanes(parts) if {(p.dtype, lanes_of(p)) for p in parts} != {(e.dtype, 1)}:
            yield f"lanes that are no scalars of one type: {shown(e)}"
        case AllReduce():
            yield f"invocations meet inside an expression: {shown(e)}"
        case Reduce():
            yield f"a reduction that is no loop: {shown(e)}"


def check_guard(x: Load) -> Iterator[str]:
    if x.guard is not None and (x.guard.dtype != BOOL or lanes_of(x.guard) != 1):
        yield f"a guard is no scalar bool: {shown(x)}"


def _lockstep(e: Expr) -> tuple[Expr, ...]:
    """The operands that must have as many lanes as each other."""
    match e:
        case Binary(_, a, b):
            return a, b
        case Select(c, a, b):
            return c, a, b
    return ()


def _fits(c: Const) -> bool:
    if c.type == BOOL:
        return c.value in (0, 1)
    bits = c.type.bits - (c.type.kind == "int")
    low = -(1 << bits) if c.type.kind == "int" else 0
    return c.value == int(c.value) and low <= c.value < 1 << bits
