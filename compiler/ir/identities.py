"""Identities of index arithmetic: each canonical form of a quotient, a remainder, a minimum or a maximum is made by
the first of a table that matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import gcd
from typing import TypeVar

from .affine import Affine, affine, common_factor, divide_term, divide_terms, merge, multiply
from .memo import memo
from .nodes import Binary, Const, Expr
from .products import is_size

T = TypeVar("T", Affine, int)


def join(terms: dict[Expr, int], constant: int) -> Affine:
    """The sum, where the first two terms that an identity of JOINS matches are one."""
    for atom, k in terms.items():
        if not (isinstance(atom, Binary) and atom.op == "%"):
            continue
        if not isinstance(atom.b, Const):
            if is_size(atom.b) and (whole := _with_multiple(terms, atom, k)) is not None:
                return whole + Affine((), constant)
            continue
        divisor = int(atom.b.value)
        if is_size(atom) and (rounded := _without_remainder(terms, atom, k, divisor)) is not None:
            return rounded + Affine((), constant)
        quotient = affine(Binary("//", atom.a, atom.b))
        if quotient.constant or len(quotient.terms) != 1 or quotient.terms[0][1] != 1:
            continue
        for partner, n in terms.items():
            if n != k * divisor:
                continue
            x = affine(atom.a)
            tried = (identity(x, divisor, quotient.terms[0][0], partner) for identity in JOINS)
            joined = next((form for form in tried if form is not None), None)
            if joined is not None:
                rest = [(a, m) for a, m in terms.items() if a not in (atom, partner)]
                joined = joined.scale(k)
                return merge([*rest, *joined.terms], constant + joined.constant)
    return Affine(tuple(terms.items()), constant)


def _with_multiple(terms: dict[Expr, int], atom: Binary, k: int) -> Affine | None:
    """r + k * ((q + x // n) * n) + k * (x % n)   ->   r + k * (q * n + x), for a size n"""
    for partner, c in terms.items():
        if not (c == k and isinstance(partner, Binary) and partner.op == "*"):
            continue
        for a, b in ((partner.a, partner.b), (partner.b, partner.a)):
            quotient = Binary("//", atom.a, atom.b)
            if b != atom.b or (times := affine(a)).coefficient(quotient) != 1:
                continue
            size, others = affine(b), times.without(quotient)
            multiple = multiply(others, size) if others.terms else size.scale(others.constant)
            if multiple is not None:
                rest = [(t, m) for t, m in terms.items() if t not in (atom, partner)]
                joined = (multiple + affine(atom.a)).scale(k)
                return merge([*rest, *joined.terms], joined.constant)
    return None


def _without_remainder(terms: dict[Expr, int], atom: Binary, k: int, divisor: int) -> Affine | None:
    """r - k * x + k * (x % c)   ->   r - k * c * (x // c), for a size x: n + -n % 4 is 4 * ((n + 3) // 4)."""
    x = affine(atom.a)
    if any(terms.get(a) != -k * c for a, c in x.terms):
        return None
    rest = Affine(tuple((a, m) for a, m in terms.items() if a != atom and not x.coefficient(a)), 0)
    return rest + Affine((), k * x.constant) + divide("//", x, divisor).scale(-k * divisor)


@memo
def divide_by_size(op: str, x: Affine, y: Affine) -> Affine:
    """(q * y + r) // y   ->   q + r // y;   (q * y + r) % y   ->   r % y, for a positive y of scalars. r // y is 0, and
    r % y is r, where 0 <= r < y."""
    if not y.terms:
        return divide(op, x, y.constant) if y.constant > 0 else _atom(op, x, y)
    span = facts.range_of_sum(y)
    if span is None or span[0] < 1:
        return _atom(op, x, y)
    quotient, rest = divide_terms(x, y)
    if _is_below(rest, y):
        return quotient if op == "//" else rest
    left = _cancel_sizes(op, rest, y) or _atom(op, rest, y)
    return quotient + left if op == "//" else left


def _is_below(x: Affine, y: Affine) -> bool:
    """Whether 0 <= x < y."""
    low, room = facts.range_of_sum(x), facts.range_of_sum(y + Affine((), -1) + x.scale(-1))
    return low is not None and room is not None and low[0] >= 0 and room[0] >= 0


def _cancel_sizes(op: str, x: Affine, y: Affine) -> Affine | None:
    """(g * z + r) // (g * d)   ->   z // d;   (g * z + r) % (g * d)   ->   g * (z % d) + r, where r is in [0, g), for a
    product of sizes g. The counter of a row of 4 * H * W elements is made of those of 4 matrices so."""
    if y.constant or len(y.terms) != 1:
        return None
    for term in x.terms if len(x.terms) > 1 else ():
        common = common_factor(term, y.terms[0])
        if not common.terms or common == y:
            continue
        multiple = Affine(tuple(t for t in x.terms if divide_term(t, common.terms[0]) is not None), 0)
        rest = Affine(tuple(t for t in x.terms if t not in multiple.terms), x.constant)
        if _is_below(rest, common):
            z, d = (divide_terms(form, common)[0] for form in (multiple, y))
            inner = divide_by_size(op, z, d)
            whole = multiply(inner, common) if inner.terms else common.scale(inner.constant)
            return inner if op == "//" else None if whole is None else whole + rest
    return None


def _atom(op: str, x: Affine, y: Affine) -> Affine:
    return Affine(((Binary(op, x.to_expr(), y.to_expr()), 1),), 0)


@memo
def divide(op: str, x: Affine, divisor: int) -> Affine:
    """x // divisor or x % divisor, for a positive divisor."""
    return _first_match(DIVISIONS, op, x, divisor) or _atom(op, x, Affine((), divisor))


@memo
def extreme(op: str, x: Affine, y: Affine) -> Affine:
    """The "min" or "max" of x and y."""
    return _first_match(EXTREMES, op, x, y) or _atom(op, x, y)


def _first_match(table: Iterable[Callable[[str, Affine, T], Affine | None]], op: str, x: Affine, y: T) -> Affine | None:
    for identity in table:
        form = identity(op, x, y)
        if form is not None:
            return form
    return None


# The identities. Each returns None where it does not match; the first of its table that does is applied. Divisions are
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
"""Rules that join `partner` * c + x % c, where `quotient` is x // c, into one term."""


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
    r = facts.range_of_sum(x)
    if r is None or r[0] // divisor != r[1] // divisor:
        return None
    k = r[0] // divisor
    return Affine((), k) if op == "//" else x + Affine((), -k * divisor)


def cancel_common_factor(op: str, x: Affine, divisor: int) -> Affine | None:
    """(g * y + r) // (g * d)   ->   y // d;   (g * y + r) % (g * d)   ->   g * (y % d) + r, where r is in [0, g)

    r is a constant, or at least two terms: of an index of two terms, as the number of a GPU's invocation, all quotients
    and remainders have one dividend, which is computed once."""
    factors = {gcd(divisor, *(c for _, c in x.terms)), *(gcd(divisor, c) for _, c in x.terms)}
    for common in sorted(factors - {1}):
        inner = Affine(tuple((a, c // common) for a, c in x.terms if c % common == 0), x.constant // common)
        rest = Affine(tuple((a, c) for a, c in x.terms if c % common), x.constant % common)
        span = facts.range_of_sum(rest) if len(rest.terms) != 1 else None
        if span is not None and span[0] >= 0 and span[1] < common:
            divided = divide(op, inner, divisor // common)
            return divided if op == "//" else divided.scale(common) + rest
    return None


def merge_quotients(op: str, x: Affine, divisor: int) -> Affine | None:
    """(x // a + k) // b   ->   (x + k * a) // (a * b). The same for remainders would hide x % (a * b) from JOINS."""
    if op != "//" or len(x.terms) != 1 or x.terms[0][1] != 1:
        return None
    match x.terms[0][0]:
        case Binary("//", inner, Const(a, _)) if int(a) > 0:
            return divide("//", affine(inner) + Affine((), x.constant * int(a)), divisor * int(a))
    return None


def negate_sizes(op: str, x: Affine, divisor: int) -> Affine | None:
    """(-x) // d   ->   -((x + d - 1) // d), for a sum of sizes x"""
    if op != "//" or not x.terms or not all(c < 0 and is_size(a) for a, c in x.terms):
        return None
    return divide("//", x.scale(-1) + Affine((), divisor - 1), divisor).scale(-1)


def drop_inner_remainder(op: str, x: Affine, divisor: int) -> Affine | None:
    """(k * (y % c) + r) % d   ->   (k * y + r) % d, for a size y, where k * c is a multiple of d"""
    for atom, k in x.terms if op == "%" else ():
        match atom:
            case Binary("%", y, Const(c, _)) if k * int(c) % divisor == 0 and is_size(y):
                return divide("%", x.without(atom) + affine(y).scale(k), divisor)
    return None


def divide_remainder(op: str, x: Affine, divisor: int) -> Affine | None:
    """(y % c) // d   ->   (y // d) % (c // d), for a size y, where c is a multiple of d"""
    match x.terms:
        case ((Binary("%", y, Const(c, _)), 1),) if op == "//" and not x.constant and int(c) % divisor == 0:
            return divide("%", divide("//", affine(y), divisor), int(c) // divisor) if is_size(y) else None
    return None


DIVISIONS = (
    divide_by_one,
    take_out_multiples,
    stay_in_one_period,
    cancel_common_factor,
    merge_quotients,
    negate_sizes,
    drop_inner_remainder,
    divide_remainder,
)
"""Rules for x // d and x % d."""


def drop_larger(op: str, x: Affine, y: Affine) -> Affine | None:
    """min(x, y)   ->   x;   max(x, y)   ->   y, where x - y <= 0"""
    difference = facts.range_of_sum(x + y.scale(-1))
    if difference is None or difference[1] > 0:
        return None
    return x if op == "min" else y


def drop_smaller(op: str, x: Affine, y: Affine) -> Affine | None:
    """min(x, y)   ->   y;   max(x, y)   ->   x, where x - y >= 0"""
    difference = facts.range_of_sum(x + y.scale(-1))
    if difference is None or difference[0] < 0:
        return None
    return y if op == "min" else x


def nest_extremes(op: str, x: Affine, y: Affine) -> Affine | None:
    """max(max(a, b) + c, y)   ->   max(a + c, max(b + c, y)), where the inner one is decided, and the same for min"""
    for outer, other in ((x, y), (y, x)):
        match outer.terms:
            case ((Binary(inner, a, b), 1),) if inner == op:
                for p, q in ((a, b), (b, a)):
                    rest = affine(q) + Affine((), outer.constant)
                    joined = extreme(op, rest, other)
                    if joined in (rest, other):
                        return extreme(op, affine(p) + Affine((), outer.constant), joined)
    return None


EXTREMES = (drop_larger, drop_smaller, nest_extremes)
"""Rules for min(x, y) and max(x, y)."""


from . import facts  # noqa: E402, the end of `affine` says why
