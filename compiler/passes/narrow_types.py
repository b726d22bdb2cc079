"""Element types that a GPU has not become those that it has: float32, int32, uint32, and bool within expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..dtypes import BOOL, F16, F32, F64, I32, I64, U32, U64, DType
from ..errors import CannotExpress
from ..ir.construct import maximum, minimum
from ..ir.facts import Facts
from ..ir.forms import retyped
from ..ir.intervals import INT32, ROUNDING, Range, limits, within
from ..ir.nodes import (
    COMPARISONS,
    PREDICATES,
    Alloc,
    Binary,
    Bitcast,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    If,
    Kernel,
    Load,
    Outline,
    Scope,
    Select,
    Seq,
    Stmt,
    Store,
    Unary,
)
from ..ir.rewrite import map_children, walk
from .accumulator_ranges import with_accumulators
from .float_bits import round_to_half, size_bits
from .math_functions import Num
from .merge_equal import merge_equal

RING = frozenset({"+", "-", "*", "and", "or", "xor"})
"""Operations whose low bits depend on the low bits of their operands alone."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """`kernel`, with buffers of device types in place of its own; `range` is that of the elements it writes, None for
    floats."""

    kernel: Kernel
    range: Range | None


def device_dtype(dtype: DType) -> DType:
    """How elements of `dtype` are held in device memory: float32, int32 or uint32.

    Raises CannotExpress for float64 and uint64. int64 is held only where its values are proven to fit.
    """
    if dtype in (F64, U64):
        raise CannotExpress(f"it computes in {dtype}, which shaders lack")
    return F32 if dtype.is_float else U32 if dtype == U32 else I32


def narrow_types(kernel: Kernel, ranges: Mapping[Buffer, Range]) -> Narrowed:
    """y: uint8 = a + b   ->   y: int32 = (a + b) & 255

    A naive kernel (no vectors), computed in 32-bit types with the very results of its own: what a small integer type
    would wrap around is wrapped by shifts or masks, where it may leave the type. int64 becomes int32 where the
    intervals of all values prove that nothing changes, with the `ranges` of the buffers it reads (for int64
    buffers, the only source). Halves are float32, rounded where a float16 is made.
    Raises CannotExpress with the reason where there is no such proof, and for float64 and uint64.
    """
    facts = with_accumulators(kernel, ranges)
    narrower = _Narrower(facts)
    params = tuple(narrower.buffer(b) for b in kernel.params)
    body = merge_equal(narrower.statement(kernel.body))
    forms = tuple(retyped(form, device_dtype) for form in kernel.forms)
    return Narrowed(replace(kernel, params=params, body=body, forms=forms), _written(kernel, facts))


def output_range(kernel: Kernel, ranges: Mapping[Buffer, Range]) -> Range | None:
    """The interval of what a kernel writes, wherever it runs; None for floats."""
    return _written(kernel, with_accumulators(kernel, ranges))


def _written(kernel: Kernel, facts: Facts) -> Range | None:
    output = kernel.params[-1]
    if output.dtype.is_float:
        return None
    intervals = [facts.of(s.value) for s in walk(kernel.body) if isinstance(s, Store) and s.buffer is output]
    return (min(r[0] for r in intervals), max(r[1] for r in intervals)) if intervals else (0, 0)


class _Narrower:
    """Expressions of small integers and int32 become their value; those of int64 its low 32 bits, which are the value
    where its interval fits."""

    def __init__(self, ranges: Facts) -> None:
        self._ranges = ranges
        self._buffers: dict[Buffer, Buffer] = {}
        self._memo: dict[tuple[int, int], Expr] = {}

    def buffer(self, b: Buffer) -> Buffer:
        if b not in self._buffers:
            dtype = device_dtype(b.dtype)
            same = dtype == b.dtype
            self._buffers[b] = b if same else Buffer(b.name, b.shape, dtype, b.scope, b.constant, b.layout)
        return self._buffers[b]

    def statement(self, s: Stmt) -> Stmt:
        match s:
            case Store(b, indices, value):
                at = tuple(self._expr(i, self._ranges) for i in indices)
                return Store(self.buffer(b), at, self._stored(b, value))
            case Alloc(b, body):
                return Alloc(self.buffer(b), self.statement(body))
            case If(cond, body):
                return If(self._expr(cond, self._ranges), self.statement(body))
            case For(_, body, _, _) | Outline(body):
                return replace(s, body=self.statement(body))
            case Seq(stmts):
                return Seq(tuple(self.statement(x) for x in stmts))
        return s

    def _stored(self, b: Buffer, value: Expr) -> Expr:
        if b.dtype == BOOL:
            return Cast(I32, self._expr(value, self._ranges))
        if b.dtype == I64 and isinstance(value, Const) and b.scope is Scope.LOCAL and self._fits(Load(b, ())):
            # The start of a maximum or minimum: no less neutral among int32.
            return Const(max(INT32[0], min(INT32[1], int(value.value))))
        return self._value(value, self._ranges)

    def _fits(self, e: Expr) -> bool:
        return within(self._ranges.of(e), INT32)

    def _value(self, e: Expr, facts: Facts) -> Expr:
        """`e` itself, not its low bits only."""
        if e.dtype == I64 and not within(facts.of(e), INT32):
            low, high = facts.of(e)
            span = "" if (low, high) == limits(I64) else f": they may be {low} to {high}"
            raise CannotExpress(f"its int64 values are not known to fit int32{span}")
        return self._expr(e, facts)

    def _expr(self, e: Expr, facts: Facts) -> Expr:
        key = id(e), id(facts)
        if key not in self._memo:
            device_dtype(e.dtype)
            self._memo[key] = self._narrowed(e, facts)
        return self._memo[key]

    def _narrowed(self, e: Expr, facts: Facts) -> Expr:
        match e:
            case Const(value, dtype):
                return _constant(value, dtype)
            case Load(b, indices, guard):
                at = tuple(self._expr(i, facts) for i in indices)
                load = Load(self.buffer(b), at, None if guard is None else self._expr(guard, facts))
                return load.ne(0) if b.dtype == BOOL else load
            case Select(c, a, b):
                return Select(
                    self._expr(c, facts), self._expr(a, facts.where(c, True)), self._expr(b, facts.where(c, False))
                )
            case Cast(dtype, a):
                return self._cast(dtype, a, e, facts)
            case Bitcast(dtype, a):
                return self._bitcast(dtype, a, e, facts)
            case Unary(op, a):
                return self._unary(op, a, e, facts)
            case Binary(op, a, b) if a.dtype == BOOL:
                return _of_bools(op, self._expr(a, facts), self._expr(b, facts))
            case Binary(op, a, b):
                return self._binary(op, a, b, e, facts)
        new = map_children(e, lambda c: self._expr(c, facts) if isinstance(c, Expr) else c)
        assert isinstance(new, Expr)
        return new

    def _unary(self, op: str, a: Expr, e: Expr, facts: Facts) -> Expr:
        if a.dtype == F16 and op not in PREDICATES:
            return _half(Unary(op, self._expr(a, facts)))
        if not a.dtype.is_int:
            return Unary(op, self._expr(a, facts))
        if op in ROUNDING:
            return self._expr(a, facts)
        if op == "not" and a.dtype.kind == "uint" and a.dtype != U32:
            return self._expr(a, facts) ^ limits(a.dtype)[1]
        operand = self._expr(a, facts) if op in ("neg", "not") else self._value(a, facts)
        return _wrapped(Unary(op, operand), e, facts)

    def _binary(self, op: str, a: Expr, b: Expr, e: Expr, facts: Facts) -> Expr:
        match e:
            case Binary("min", Binary("max", x, Const(low)), Const(high)) if e.dtype == I64 and (low, high) == INT32:
                # An index on its way to int32. What is stored or given fits; a sum of such may wrap, still an int32.
                return self._expr(x, facts)
        if a.dtype == F16:
            result = Binary(op, self._expr(a, facts), self._expr(b, facts))
            return result if op in COMPARISONS else _half(result)
        low_bits = op in RING or op in ("shl", "pow")
        x = self._expr(a, facts) if low_bits else self._value(a, facts)
        y = self._expr(b, facts) if op in RING else self._value(b, facts)
        if op in COMPARISONS or a.dtype.is_float:
            return Binary(op, x, y)
        if op in ("shl", "shr") and a.dtype.bits != 32:
            return _wrapped(_shift(op, x, y, facts.of(b)), e, facts)
        return _wrapped(Binary(op, x, y), e, facts)

    def _cast(self, to: DType, a: Expr, e: Expr, facts: Facts) -> Expr:
        source = a.dtype
        if to == BOOL:
            x = self._value(a, facts)
            return x if source == BOOL else (size_bits(x) if source.is_float else x).ne(0)
        if to == F16:
            return self._expr(a, facts) if source == F16 else _half(self._value(a, facts).cast(F32))
        if to.is_float or source == BOOL:
            return self._value(a, facts).cast(device_dtype(to))
        if source.is_float:
            return self._truncated(to, self._expr(a, facts), e, facts)
        # Between integers the low bits are kept; a wider type needs all of them.
        x = self._value(a, facts) if to.bits > min(source.bits, 32) and source.bits < 64 else self._expr(a, facts)
        return _wrapped(x.cast(device_dtype(to)), e, facts)

    def _truncated(self, to: DType, x: Expr, e: Expr, facts: Facts) -> Expr:
        """A float as an integer, saturated."""
        if to in (I32, U32):
            return Cast(to, x)
        low, high = facts.of(e)
        if to == I64 and not within((low, high), INT32):
            raise CannotExpress("it converts floats to int64 that are not known to fit int32")
        return minimum(maximum(Cast(I32, x), limits(to)[0]), limits(to)[1]) if to != I64 else Cast(I32, x)

    def _bitcast(self, to: DType, a: Expr, e: Expr, facts: Facts) -> Expr:
        if to.bits == 64 or F16 in (to, a.dtype):
            raise CannotExpress(f"it reads the bits of {a.dtype} as {to}")
        x = self._expr(a, facts)
        if to.bits == 32:
            return x if to == a.dtype else Bitcast(to, x)
        return _wrapped(x, e, facts)


def _half(x: Expr) -> Expr:
    return round_to_half(Num(x, 1)).e


def _constant(value: int | float | bool, dtype: DType) -> Const:
    if dtype in (BOOL, F32, I32, U32):
        return Const(value, dtype)
    if dtype.is_float:
        return Const(float(value), F32)
    return Const((int(value) - INT32[0]) % (1 << 32) + INT32[0])


def _wrapped(x: Expr, e: Expr, facts: Facts) -> Expr:
    """`x` computed in 32 bits, as the small integer type of `e` holds it."""
    dtype = e.dtype
    if dtype.bits >= 32 or within(facts.unwrapped(e), limits(dtype)):
        return x
    if dtype.kind == "uint":
        return x & limits(dtype)[1]
    rest = Const(32 - dtype.bits)
    return Binary("shr", Binary("shl", x, rest), rest)


def _shift(op: str, x: Expr, count: Expr, counts: Range) -> Expr:
    """By a count that may be 32 or more where the narrower (or wider) type says so."""
    if within(counts, (0, 31)):
        return Binary(op, x, count)
    bounded = Binary(op, x, Binary("and", minimum(count, 31), Const(31)))
    return bounded if op == "shr" else Select(count < 32, bounded, Const(0))


def _of_bools(op: str, a: Expr, b: Expr) -> Expr:
    """Arithmetic, order and equality of bools by logic, as shaders have it."""
    match op:
        case "+" | "max":
            return a | b
        case "*" | "min":
            return a & b
        case "<":
            return ~a & b
        case "<=":
            return ~a | b
        case "xor" | "!=":
            return Binary("!=", a, b)
    return Binary(op, a, b)
