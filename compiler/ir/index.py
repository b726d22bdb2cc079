"""Integer index arithmetic: a canonical affine form over loop variables, and value ranges.

All reasoning about indices stands here: simplification, guards that are always true, contiguity of accesses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd

from ..dtypes import I32
from .intervals import Range, atom_range
from .nodes import Binary, Const, Expr, Unary, Var


@dataclass(slots=True, eq=False)
class Affine:
    """The sum of coefficient * atom plus a constant. An atom is a Var or an expression that is not affine.

    Equal sums are equal, whatever the order of their terms. It never changes, though it is not declared frozen: those
    take three times as long to make, and a model makes 100,000.
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
        if not other.terms:
            return Affine(self.terms, self.constant + other.constant)
        if not self.terms:
            return Affine(other.terms, self.constant + other.constant)
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
            r = atom_range(atom, range_of) if of_atom is None else of_atom(atom)
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
    return Affine(tuple(kept.items()), constant) if len(kept) < 2 else _join(kept, constant)


def _join(terms: dict[Expr, int], constant: int) -> Affine:
    """The sum, where the first two terms that an identity of JOINS matches are one."""
    for atom, k in terms.items():
        if not (isinstance(atom, Binary) and atom.op == "%" and isinstance(atom.b, Const)):
            continue
        divisor = int(atom.b.value)
        quotient = affine(Binary("//", atom.a, atom.b))
        if quotient.constant or len(quotient.terms) != 1 or quotient.terms[0][1] != 1:
            continue
        for partner, n in terms.items():
            if n != k * divisor:
                continue
            x = affine(atom.a)
            tried = (identity(x, divisor, quotient.terms[0][0], partner) for identity in JOINS)
            joined = next((found for found in tried if found is not None), None)
            if joined is not None:
                rest = [(a, m) for a, m in terms.items() if a not in (atom, partner)]
                joined = joined.scale(k)
                return _make([*rest, *joined.terms], constant + joined.constant)
    return Affine(tuple(terms.items()), constant)


def affine(e: Expr) -> Affine:
    """The canonical form of an int32 scalar expression."""
    # Variables and sums, the most frequent, come first, and operators are told apart once.
    match e:
        case Var():
            return Affine(((e, 1),), 0) if e.extent != 1 else Affine((), 0)
        case Binary(op, a, b):
            return _affine_of_binary(e, op, a, b)
        case Const(value, _):
            return Affine((), int(value))
        case Unary("neg", a):
            return affine(a).scale(-1)
    return Affine(((e, 1),), 0)


def _affine_of_binary(e: Expr, op: str, a: Expr, b: Expr) -> Affine:
    match op:
        case "+":
            return affine(a) + affine(b)
        case "-":
            return affine(a) + affine(b).scale(-1)
        case "*":
            x, y = affine(a), affine(b)
            if not y.terms:
                return x.scale(y.constant)
            if not x.terms:
                return y.scale(x.constant)
            return Affine(((Binary("*", x.to_expr(), y.to_expr()), 1),), 0)
        case "//" | "%" if isinstance(b, Const) and int(b.value) > 0:
            return divide(op, affine(a), int(b.value))
        case "max" | "min":
            return extreme(op, affine(a), affine(b))
    return Affine(((e, 1),), 0)


def flat_offset(shape: tuple[int, ...], indices: tuple[Expr, ...]) -> Affine:
    """The element offset of [indices] in a row-major array of `shape`."""
    total, stride = Affine((), 0), 1
    for i, extent in zip(reversed(indices), reversed(shape), strict=True):
        total = total + affine(i).scale(stride)
        stride *= extent
    return total


def range_of(e: Expr) -> Range | None:
    """The interval of an int32 expression; None where nothing is known (a value loaded from memory)."""
    if e.dtype != I32:
        return None
    return affine(e).range()


def decide(op: str, a: Expr, b: Expr) -> bool | None:
    """The truth of an int32 comparison where the ranges decide it."""
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


def divide(op: str, x: Affine, divisor: int) -> Affine:
    """x // divisor or x % divisor, for a positive divisor."""
    for identity in DIVISIONS:
        found = identity(op, x, divisor)
        if found is not None:
            return found
    return Affine(((Binary(op, x.to_expr(), Const(divisor)), 1),), 0)


def extreme(op: str, x: Affine, y: Affine) -> Affine:
    """The "min" or "max" of x and y."""
    for identity in EXTREMES:
        found = identity(op, x, y)
        if found is not None:
            return found
    return Affine(((Binary(op, x.to_expr(), y.to_expr()), 1),), 0)


# The identities. Each gives None where it does not match; the first of its table that does is taken. Divisions are
# rounded down, divisors are positive.


def join_quotient(x: Affine, divisor: int, quotient: Expr, partner: Expr) -> Affine | None:
    """(x // c) * c + x % c   ->   x"""
    return x if partner == quotient else None


def join_remainders(x: Affine, divisor: int, quotient: Expr, partner: Expr) -> Affine | None:
    """(e % h) * c + x % c   ->   (x + r * c) % (h * c), where e = x // c + r"""
    match partner:
        case Binary("%", e, Const(h, _)) if affine(e).coefficient(quotient) == 1:
            rest = affine(e) + Affine(((quotient, -1),), 0)
            return divide("%", x + rest.scale(divisor), int(h) * divisor)
    return None


JOINS = (join_quotient, join_remainders)
"""Of `partner` * c + x % c, where `quotient` is x // c: the two terms as one."""


def divide_by_one(op: str, x: Affine, divisor: int) -> Affine | None:
    """x // 1   ->   x;   x % 1   ->   0"""
    if divisor != 1:
        return None
    return x if op == "//" else Affine((), 0)


def take_out_multiples(op: str, x: Affine, divisor: int) -> Affine | None:
    """(a * d + r) // d   ->   a + r // d;   (a * d + r) % d   ->   r % d, where r's constant is in [0, d)"""
    whole = Affine(tuple((a, c // divisor) for a, c in x.terms if c % divisor == 0), x.constant // divisor)
    if not whole.terms and not whole.constant:
        return None
    rest = Affine(tuple((a, c) for a, c in x.terms if c % divisor), x.constant % divisor)
    return whole + divide(op, rest, divisor) if op == "//" else divide(op, rest, divisor)


def stay_in_one_period(op: str, x: Affine, divisor: int) -> Affine | None:
    """x // d   ->   k;   x % d   ->   x - k * d, where x is in [k * d, (k + 1) * d)"""
    r = x.range()
    if r is None or r[0] // divisor != r[1] // divisor:
        return None
    k = r[0] // divisor
    return Affine((), k) if op == "//" else x + Affine((), -k * divisor)


def cancel_common_factor(op: str, x: Affine, divisor: int) -> Affine | None:
    """(g * y + k) // (g * d)   ->   y // d;   (g * y + k) % (g * d)   ->   g * (y % d) + k, where k is in [0, g)"""
    common = gcd(divisor, *(c for _, c in x.terms))
    if common == 1:
        return None
    inner = Affine(tuple((a, c // common) for a, c in x.terms), x.constant // common)
    divided = divide(op, inner, divisor // common)
    return divided if op == "//" else divided.scale(common) + Affine((), x.constant % common)


def merge_quotients(op: str, x: Affine, divisor: int) -> Affine | None:
    """(x // a + k) // b   ->   (x + k * a) // (a * b). The same for remainders would hide x % (a * b) from JOINS."""
    if op != "//" or len(x.terms) != 1 or x.terms[0][1] != 1:
        return None
    match x.terms[0][0]:
        case Binary("//", inner, Const(a, _)) if int(a) > 0:
            return divide("//", affine(inner) + Affine((), x.constant * int(a)), divisor * int(a))
    return None


DIVISIONS = (divide_by_one, take_out_multiples, stay_in_one_period, cancel_common_factor, merge_quotients)
"""Of x // d and x % d."""


def drop_larger(op: str, x: Affine, y: Affine) -> Affine | None:
    """min(x, y)   ->   x;   max(x, y)   ->   y, where x - y <= 0"""
    difference = (x + y.scale(-1)).range()
    if difference is None or difference[1] > 0:
        return None
    return x if op == "min" else y


def drop_smaller(op: str, x: Affine, y: Affine) -> Affine | None:
    """min(x, y)   ->   y;   max(x, y)   ->   x, where x - y >= 0"""
    difference = (x + y.scale(-1)).range()
    if difference is None or difference[0] < 0:
        return None
    return y if op == "min" else x


EXTREMES = (drop_larger, drop_smaller)
"""Of min(x, y) and max(x, y)."""
