"""Integer index arithmetic: a canonical affine form over loop variables, and value ranges.

All reasoning about indices stands here: simplification, guards that are always true, contiguity of accesses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..dtypes import I32
from .nodes import Binary, Const, Expr, Select, Unary, Var

Range = tuple[int, int]
"""Least and greatest value, both included."""


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """The sum of coefficient * atom plus a constant. An atom is a Var or an expression that is not affine.

    Equal sums are equal, whatever the order of their terms.
    """

    terms: tuple[tuple[Expr, int], ...]
    constant: int

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Affine) or self.constant != other.constant:
            return False
        return self.terms == other.terms or frozenset(self.terms) == frozenset(other.terms)

    def __hash__(self) -> int:
        return hash((frozenset(self.terms), self.constant))

    def coefficient(self, atom: Expr) -> int:
        return next((c for a, c in self.terms if a == atom), 0)

    def __add__(self, other: Affine) -> Affine:
        return _make([*self.terms, *other.terms], self.constant + other.constant)

    def scale(self, factor: int) -> Affine:
        if factor == 0:
            return Affine((), 0)
        return Affine(tuple((a, c * factor) for a, c in self.terms), self.constant * factor)

    def without(self, atom: Expr) -> Affine:
        return Affine(tuple((a, c) for a, c in self.terms if a != atom), self.constant)

    @property
    def variables_only(self) -> bool:
        """Whether every atom is a loop variable."""
        return all(isinstance(a, Var) for a, _ in self.terms)

    def range(self, of_atom: Callable[[Expr], Range | None] | None = None) -> Range | None:
        """The interval of values, None where an atom's is not known. `of_atom` gives that of an atom."""
        lo = hi = self.constant
        for atom, c in self.terms:
            r = atom_range(atom) if of_atom is None else of_atom(atom)
            if r is None:
                return None
            lo += c * (r[0] if c > 0 else r[1])
            hi += c * (r[1] if c > 0 else r[0])
        return lo, hi

    def to_expr(self) -> Expr:
        result: Expr | None = None
        for atom, c in self.terms:
            negative = c < 0 and result is not None
            size = -c if negative else c
            term = atom if size == 1 else Binary("*", atom, Const(size))
            result = term if result is None else Binary("-" if negative else "+", result, term)
        if result is None:
            return Const(self.constant)
        if self.constant:
            sign, size = ("-", -self.constant) if self.constant < 0 else ("+", self.constant)
            result = Binary(sign, result, Const(size))
        return result


def _make(terms: list[tuple[Expr, int]], constant: int) -> Affine:
    merged: dict[Expr, int] = {}
    for atom, c in terms:
        merged[atom] = merged.get(atom, 0) + c
    kept = {a: c for a, c in merged.items() if c}
    return Affine(tuple(kept.items()), constant) if len(kept) < 2 else _join_quotients(kept, constant)


def _join_quotients(terms: dict[Expr, int], constant: int) -> Affine:
    """Remainders meet their quotients: (x // c) * c + x % c is x, and (e % h) * c + x % c with e = x // c + r is
    (x + r * c) % (h * c); both times any factor."""
    for atom, k in terms.items():
        if not (isinstance(atom, Binary) and atom.op == "%" and isinstance(atom.b, Const)):
            continue
        divisor = int(atom.b.value)
        quotient = affine(Binary("//", atom.a, atom.b))
        if quotient.constant or len(quotient.terms) != 1 or quotient.terms[0][1] != 1:
            continue
        for partner, n in terms.items():
            joined = _joined(affine(atom.a), divisor, quotient, partner) if n == k * divisor else None
            if joined is not None:
                rest = [(a, m) for a, m in terms.items() if a not in (atom, partner)]
                joined = joined.scale(k)
                return _make([*rest, *joined.terms], constant + joined.constant)
    return Affine(tuple(terms.items()), constant)


def _joined(x: Affine, divisor: int, quotient: Affine, partner: Expr) -> Affine | None:
    """partner * divisor + x % divisor as one term, where `quotient` is x // divisor; None where they do not match."""
    if partner == quotient.terms[0][0]:
        return x
    match partner:
        case Binary("%", e, Const(h, _)) if affine(e).coefficient(quotient.terms[0][0]) == 1:
            rest = affine(e) + quotient.scale(-1)
            return _divide("%", x + rest.scale(divisor), int(h) * divisor)
    return None


def affine(e: Expr) -> Affine:
    """The canonical form of an int32 scalar expression."""
    match e:
        case Const(value, _):
            return Affine((), int(value))
        case Var():
            return Affine(((e, 1),), 0) if e.extent != 1 else Affine((), 0)
        case Unary("neg", a):
            return affine(a).scale(-1)
        case Binary("+", a, b):
            return affine(a) + affine(b)
        case Binary("-", a, b):
            return affine(a) + affine(b).scale(-1)
        case Binary("*", a, b):
            x, y = affine(a), affine(b)
            if not y.terms:
                return x.scale(y.constant)
            if not x.terms:
                return y.scale(x.constant)
            return Affine(((Binary("*", x.to_expr(), y.to_expr()), 1),), 0)
        case Binary("//" | "%", a, Const(value, _)) if int(value) > 0:
            return _divide(e.op, affine(a), int(value))
        case Binary("max" | "min", a, b):
            return _extreme(e.op, affine(a), affine(b))
    return Affine(((e, 1),), 0)


def flat_offset(shape: tuple[int, ...], indices: tuple[Expr, ...]) -> Affine:
    """The element offset of [indices] in a row-major array of `shape`."""
    total, stride = Affine((), 0), 1
    for i, extent in zip(reversed(indices), reversed(shape), strict=True):
        total = total + affine(i).scale(stride)
        stride *= extent
    return total


def _divide(op: str, x: Affine, divisor: int) -> Affine:
    """Terms that the divisor divides leave the quotient; what is left may be known to be within [0, divisor)."""
    if divisor == 1:
        return x if op == "//" else Affine((), 0)
    whole = Affine(tuple((a, c // divisor) for a, c in x.terms if c % divisor == 0), x.constant // divisor)
    rest = Affine(tuple((a, c) for a, c in x.terms if c % divisor), x.constant % divisor)
    r = rest.range()
    if r is not None and r[0] // divisor == r[1] // divisor:
        k = r[0] // divisor
        if op == "//":
            return whole + Affine((), k)
        return rest + Affine((), -k * divisor)
    # (a*c + ...) // d with a common factor g of all coefficients and of d: divide by g first.
    common = divisor
    for _, c in rest.terms:
        common = _gcd(common, c)
    if common > 1:
        inner = Affine(tuple((a, c // common) for a, c in rest.terms), rest.constant // common)
        low = rest.constant % common
        if op == "//":
            return whole + _divide("//", inner, divisor // common)
        return _divide("%", inner, divisor // common).scale(common) + Affine((), low)
    if op == "//" and len(rest.terms) == 1 and rest.terms[0][1] == 1:
        atom = rest.terms[0][0]
        # (x // a + k) // b is (x + k*a) // (a*b). The like for remainders would hide x % (a*b) from _join_quotients.
        if isinstance(atom, Binary) and atom.op == "//" and isinstance(atom.b, Const) and int(atom.b.value) > 0:
            inner_divisor = int(atom.b.value)
            nested = affine(atom.a) + Affine((), rest.constant * inner_divisor)
            return whole + _divide("//", nested, divisor * inner_divisor)
    atom_expr = Binary(op, rest.to_expr(), Const(divisor))
    made = Affine(((atom_expr, 1),), 0)
    return whole + made if op == "//" else made


def _extreme(op: str, x: Affine, y: Affine) -> Affine:
    difference = (x + y.scale(-1)).range()
    if difference is not None:
        if difference[1] <= 0:
            return x if op == "min" else y
        if difference[0] >= 0:
            return y if op == "min" else x
    return Affine(((Binary(op, x.to_expr(), y.to_expr()), 1),), 0)


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return abs(a)


def atom_range(e: Expr, of: Callable[[Expr], Range | None] | None = None) -> Range | None:
    """The interval of an atom, from those of its operands: `of` them, by default `range_of`."""
    of = of or range_of
    match e:
        case Var():
            return 0, max(e.extent - 1, 0)
        case Const(value, _):
            return int(value), int(value)
        case Binary("//", a, Const(value, _)) if int(value) > 0:
            r = of(a)
            return None if r is None else (r[0] // int(value), r[1] // int(value))
        case Binary("%", a, Const(value, _)) if int(value) > 0:
            r = of(a)
            if r is not None and r[0] >= 0 and r[1] < int(value):
                return r
            return 0, int(value) - 1
        case Binary("/", a, Const(value, _)) if int(value) > 0:
            r = of(a)
            return None if r is None or r[0] < 0 else (r[0] // int(value), r[1] // int(value))
        case Binary("shr", a, Const(value, _)):
            r = of(a)
            return None if r is None else (r[0] >> int(value), r[1] >> int(value))
        case Binary("and", _, Const(value, _)) if int(value) >= 0:
            return 0, int(value)
        case Binary("max" | "min", a, b):
            x, y = of(a), of(b)
            return None if x is None or y is None else _extreme_range(e.op, x, y, of(a + b))
        case Binary("*", a, b):
            x, y = of(a), of(b)
            if x is None or y is None:
                return None
            corners = [i * j for i in x for j in y]
            return min(corners), max(corners)
        case Select(_, a, b):
            x, y = of(a), of(b)
            return None if x is None or y is None else (min(x[0], y[0]), max(x[1], y[1]))
    return None


def _extreme_range(op: str, x: Range, y: Range, total: Range | None) -> Range:
    """Of the smaller (larger) of two values in x and y, which is at most (at least) half of their sum: |i - 1| is
    max(i - 1, 1 - i), whose operands cancel."""
    pick = max if op == "max" else min
    low, high = pick(x[0], y[0]), pick(x[1], y[1])
    if total is None:
        return low, high
    return (max(low, -(-total[0] // 2)), high) if op == "max" else (low, min(high, total[1] // 2))


def range_of(e: Expr) -> Range | None:
    """The interval that an int32 expression lies in; None where nothing is known (a value loaded from memory)."""
    if e.dtype != I32:
        return None
    return affine(e).range()


def decide(op: str, a: Expr, b: Expr) -> bool | None:
    """The truth of an int32 comparison where the ranges settle it."""
    difference = (affine(a) + affine(b).scale(-1)).range()
    if difference is None:
        return None
    lo, hi = difference
    match op:
        case "<":
            return True if hi < 0 else False if lo >= 0 else None
        case "<=":
            return True if hi <= 0 else False if lo > 0 else None
        case "==":
            return True if lo == hi == 0 else False if lo > 0 or hi < 0 else None
        case "!=":
            return False if lo == hi == 0 else True if lo > 0 or hi < 0 else None
    return None
