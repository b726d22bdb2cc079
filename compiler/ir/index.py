"""Integer index arithmetic: a canonical affine form over loop variables, and value ranges.

All reasoning about indices stands here: simplification, guards that are always true, contiguity of accesses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import gcd

from ..dtypes import I32
from .frozen import frozen
from .intervals import Range, atom_range
from .memo import memo
from .nodes import Binary, Const, Expr, Scalar, Unary, Var


@frozen
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
        """Whether every atom is a loop variable or a scalar."""
        return all(isinstance(a, Var) for a, _ in self.terms)

    def range(self, of_atom: Callable[[Expr], Range | None] | None = None) -> Range | None:
        """The interval of values, None where an atom's is not known. `of_atom` gives that of an atom."""
        return _range_of_sum(self) if of_atom is None and len(self.terms) > 1 else self.compute_range(of_atom)

    def compute_range(self, of_atom: Callable[[Expr], Range | None] | None) -> Range | None:
        found = self._by_intervals(of_atom)
        if found is None:
            return None
        lo, hi = found
        if any(_end_of(atom) is not None for atom, _ in self.terms):
            return self._range_by_lengths(lo, hi, of_atom)
        if len(self.terms) > 1 and any(_may_relax(atom) for atom, _ in self.terms):
            return max(lo, -_most_by_relaxing(self.scale(-1), of_atom)), min(hi, _most_by_relaxing(self, of_atom))
        return lo, hi

    def _by_intervals(self, of_atom: Callable[[Expr], Range | None] | None) -> Range | None:
        """The interval by those of the atoms alone."""
        lo = hi = self.constant
        for atom, c in self.terms:
            r = _range_of_atom(atom) if of_atom is None else of_atom(atom)
            if r is None:
                return None
            lo += c * (r[0] if c > 0 else r[1])
            hi += c * (r[1] if c > 0 else r[0])
        return lo, hi

    def _range_by_lengths(self, lo: int, hi: int, of_atom: Callable[[Expr], Range | None] | None) -> Range:
        """The interval, of at most `lo` to `hi`, where a dynamic loop's variable is at most its length - 1: scalars of
        the length may cancel others."""
        least, most = self.ends()
        low, high = least.range(of_atom), most.range(of_atom)
        if high is not None:
            hi = min(hi, high[1], _most_by_relaxing(most, of_atom))
        if low is not None:
            lo = max(lo, low[0], -_most_by_relaxing(least.scale(-1), of_atom))
        return lo, hi

    def ends(self) -> tuple[Affine, Affine]:
        """The least and the greatest value, by the lengths of dynamic loops, whose variables are not in these."""
        return _end_by_lengths(self, -1), _end_by_lengths(self, 1)

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


def _end_by_lengths(form: Affine, sign: int) -> Affine:
    """The greatest value where `sign` is 1, the least where it is -1. Loops whose lengths depend on others, such as the
    counter of one around them, come first: what is left of those may cancel."""
    ends = {atom: end for atom, _ in form.terms if (end := _end_of(atom)) is not None}
    if not ends:
        return form
    uses = {atom: {f for a, _ in end.terms for f in factors(a) or ()} for atom, end in ends.items()}

    def is_used(atom: Expr) -> bool:
        return any(not used.isdisjoint(factors(atom) or ()) for other, used in uses.items() if other is not atom)

    first = [atom for atom in ends if not is_used(atom)] or list(ends)
    result = form
    for atom in first:
        c = form.coefficient(atom)
        result = result.without(atom)
        if c * sign > 0:
            result += ends[atom].scale(c)
    return _end_by_lengths(result, sign)


def _end_of(atom: Expr) -> Affine | None:
    """The greatest value of a product of a dynamic loop's variable, or of a loop's variable and a size, by the lengths
    of the loops; the least is 0. None for any other atom."""
    if isinstance(atom, Var):
        return _last(atom) if atom.length is not None else None
    if not isinstance(atom, Binary) or atom.op != "*":
        return None
    parts = factors(atom) or ()
    loops = [p for p in parts if isinstance(p, Var) and (p.length is not None or not isinstance(p, Scalar))]
    sizes = [p for p in parts if p not in loops]
    if not loops or not (sizes or any(v.length is not None for v in loops)):
        return None
    if any((range_of(n) or (-1, 0))[0] < 0 for n in sizes):
        return None
    product: Expr = Const(1)
    for factor in (*sizes, *(_last(v).to_expr() for v in loops)):
        product = Binary("*", product, factor)
    return affine(product)


def _last(v: Var) -> Affine:
    """The last value of a loop's variable where the loop does an iteration: then a length of max(n, 0) is n."""
    match v.length:
        case None:
            return Affine((), v.extent - 1)
        case Binary("max", n, Const(0, _)) | Binary("max", Const(0, _), n):
            return affine(n) + Affine((), -1)
        case n:
            return affine(n) + Affine((), -1)


def _may_relax(atom: Expr) -> bool:
    """Whether an atom is made of sizes, and is a quotient, or the larger or smaller of two."""
    return isinstance(atom, Binary) and atom.op in ("//", "max", "min") and is_size(atom)


_RELAXED = 3
"""Atoms of a form that are relaxed together."""

_MOST_FORMS = 64
"""Forms that relaxing one may lead to: they would grow exponentially with the atoms that can be relaxed."""


def _most_by_relaxing(form: Affine, of_atom: Callable[[Expr], Range | None] | None) -> int:
    """An upper bound of a form whose interval is known, by x - d < d * (x // d) <= x and min(x, y) <= x, after which x
    may cancel or join others: 8 * (n // 8) + 4 * (n % 8 // 4) is at most n. max(x, y) is one of the two."""
    found: dict[tuple[Affine, int], int] = {}
    left = _MOST_FORMS

    def most(form: Affine, depth: int) -> int:
        nonlocal left
        if (form, depth) not in found:
            left -= 1
            found[form, depth] = relaxed(form, depth if left > 0 else 0)
        return found[form, depth]

    def relaxed(form: Affine, depth: int) -> int:
        r = form._by_intervals(of_atom)
        best = 2**63 if r is None else r[1]
        for atom, c in form.terms if depth else ():
            for larger, divisor in _relaxations(atom, c):
                best = min(best, most(form.without(atom).scale(divisor) + larger, depth - 1) // divisor)
            if isinstance(atom, Binary) and atom.op == ("max" if c > 0 else "min"):
                rest = form.without(atom)
                best = min(best, max(most(rest + affine(side).scale(c), depth - 1) for side in (atom.a, atom.b)))
        return best

    return most(form, _RELAXED)


def _relaxations(atom: Expr, c: int) -> Iterator[tuple[Affine, int]]:
    """Forms f, and positive numbers d, for which d * c * atom <= f."""
    match atom:
        case Binary("//", x, Const(value, _)) if int(value) > 0:
            d = int(value)
            yield affine(x).scale(c) + Affine((), 0 if c > 0 else -c * (d - 1)), d
        case Binary("min" | "max", a, b) if (atom.op == "min") == (c > 0):
            yield affine(a).scale(c), 1
            yield affine(b).scale(c), 1


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
            joined = next((found for found in tried if found is not None), None)
            if joined is not None:
                rest = [(a, m) for a, m in terms.items() if a not in (atom, partner)]
                joined = joined.scale(k)
                return _make([*rest, *joined.terms], constant + joined.constant)
    return Affine(tuple(terms.items()), constant)


def _without_remainder(terms: dict[Expr, int], atom: Binary, k: int, divisor: int) -> Affine | None:
    """r - k * x + k * (x % c)   ->   r - k * c * (x // c), for a size x: n + -n % 4 is 4 * ((n + 3) // 4)."""
    x = affine(atom.a)
    if any(terms.get(a) != -k * c for a, c in x.terms):
        return None
    rest = Affine(tuple((a, m) for a, m in terms.items() if a != atom and not x.coefficient(a)), 0)
    return rest + Affine((), k * x.constant) + divide("//", x, divisor).scale(-k * divisor)


def affine(e: Expr) -> Affine:
    """The canonical form of an int32 scalar expression."""
    form = linear(e)
    return _affine(e) if form is None else form


def linear(e: Expr) -> Affine | None:
    """The canonical form of sums and multiples of variables, as most indices are, in one walk; None for all else, and
    where terms cancel."""
    terms: dict[Expr, int] = {}
    constant = 0
    stack = [(e, 1)]
    while stack:
        n, factor = stack.pop()
        if isinstance(n, Binary):
            op, a, b = n.op, n.a, n.b
            if op == "+":
                stack += ((b, factor), (a, factor))
            elif op == "-":
                stack += ((b, -factor), (a, factor))
            elif op == "*" and isinstance(b, Const):
                stack.append((a, factor * int(b.value)))
            elif op == "*" and isinstance(a, Const):
                stack.append((b, factor * int(a.value)))
            else:
                return None
        elif isinstance(n, Const):
            constant += factor * int(n.value)
        elif not isinstance(n, Var):
            return None
        elif n.extent != 1 or n.length is not None:
            terms[n] = c = terms.get(n, 0) + factor
            if not c:
                return None
    return Affine(tuple(terms.items()), constant)


def _affine(e: Expr) -> Affine:
    # Variables and sums, the most frequent, come first, and operators are told apart once.
    match e:
        case Var():
            # A dynamic loop of one iteration at most says that there is one.
            return Affine(((e, 1),), 0) if e.extent != 1 or e.length is not None else Affine((), 0)
        case Binary(op, a, b):
            return _affine_of_binary(e, op, a, b)
        case Const(value, _):
            return Affine((), int(value))
        case Unary("neg", a):
            return _affine(a).scale(-1)
    return Affine(((e, 1),), 0)


def _affine_of_binary(e: Expr, op: str, a: Expr, b: Expr) -> Affine:
    match op:
        case "+":
            return _affine(a) + _affine(b)
        case "-":
            return _affine(a) + _affine(b).scale(-1)
        case "*":
            x, y = _affine(a), _affine(b)
            if not y.terms:
                return x.scale(y.constant)
            if not x.terms:
                return y.scale(x.constant)
            if (product := multiply(x, y)) is not None:
                return product
            return Affine(((Binary("*", x.to_expr(), y.to_expr()), 1),), 0)
        case "//" | "%" if isinstance(b, Const) and int(b.value) > 0:
            return divide(op, affine(a), int(b.value))
        case "//" | "%" if not isinstance(b, Const) and has_scalars(divisor := affine(b)):
            return divide_by_size(op, affine(a), divisor)
        case "max" | "min":
            return extreme(op, affine(a), affine(b))
    return Affine(((e, 1),), 0)


def factors(atom: Expr) -> tuple[Expr, ...] | None:
    """The variables, and other expressions of scalars, whose product an atom is; None for another one."""
    match atom:
        case Binary("*", a, b):
            first, last = factors(a), factors(b)
            return None if first is None or last is None else (*first, *last)
    return (atom,) if isinstance(atom, Var) or is_size(atom) else None


def is_size(e: Expr) -> bool:
    """Whether an expression is made of scalars and constants alone."""
    match e:
        case Binary(_, a, b):
            return is_size(a) and is_size(b)
        case Unary(_, a):
            return is_size(a)
    return isinstance(e, Scalar | Const)


def has_scalars(form: Affine) -> bool:
    """Whether a term is a product of which a factor is made of scalars."""
    return any(is_size(v) for a, _ in form.terms for v in factors(a) or ())


def multiply(x: Affine, y: Affine) -> Affine | None:
    """The product of two polynomials of variables, at least one of which has a scalar; None for others.

    Factors stand in one order, so that equal products are equal."""
    if not (has_scalars(x) or has_scalars(y)):
        return None
    terms: list[tuple[Expr, int]] = []
    for some, c in _polynomial(x):
        for others, d in _polynomial(y):
            if some is None or others is None:
                return None
            if some or others:
                terms.append((_product((*some, *others)), c * d))
    return _make(terms, x.constant * y.constant)


def _polynomial(form: Affine) -> list[tuple[tuple[Expr, ...] | None, int]]:
    """Factors and coefficient of each term, the constant last."""
    return [*((factors(a), c) for a, c in form.terms), ((), form.constant)]


def _product(several: tuple[Expr, ...]) -> Expr:
    ordered = sorted(several, key=lambda e: (is_size(e), e.name if isinstance(e, Var) else repr(e)))
    result: Expr = ordered[0]
    for v in ordered[1:]:
        result = Binary("*", result, v)
    return result


@memo
def divide_by_size(op: str, x: Affine, y: Affine) -> Affine:
    """(q * y + r) // y   ->   q + r // y;   (q * y + r) % y   ->   r % y, for a positive y of scalars. r // y is 0, and
    r % y is r, where 0 <= r < y."""
    if not y.terms:
        return divide(op, x, y.constant) if y.constant > 0 else _division(op, x, y)
    span = y.range()
    if span is None or span[0] < 1:
        return _division(op, x, y)
    quotient, rest = divide_terms(x, y)
    low, room = rest.range(), (y + Affine((), -1) + rest.scale(-1)).range()
    if low is not None and room is not None and low[0] >= 0 and room[0] >= 0:
        return quotient if op == "//" else rest
    return quotient + _division(op, rest, y) if op == "//" else _division(op, rest, y)


def divide_terms(x: Affine, y: Affine) -> tuple[Affine, Affine]:
    """(q, r) where x = q * y + r, and r has no term that is a multiple of y's leading one."""
    quotient, rest = Affine((), 0), x
    while (q := _leading_quotient(rest, y)) is not None:
        taken = multiply(q, y) if q.terms else y.scale(q.constant)
        if taken is None:
            break
        quotient, rest = quotient + q, rest + taken.scale(-1)
    return quotient, rest


def _division(op: str, x: Affine, y: Affine) -> Affine:
    return Affine(((Binary(op, x.to_expr(), y.to_expr()), 1),), 0)


def _leading_quotient(x: Affine, y: Affine) -> Affine | None:
    """A term of x divided by the term of y that has the most factors; None where that divides none."""
    divisors, by = max(((factors(a) or (), c) for a, c in y.terms), key=lambda term: len(term[0]))
    for atom, c in x.terms if divisors else ():
        left = list(factors(atom) or ())
        if c % by == 0 and all(left.count(v) >= divisors.count(v) for v in divisors):
            for v in divisors:
                left.remove(v)
            return Affine(((_product(tuple(left)), c // by),), 0) if left else Affine((), c // by)
    return None


def flat_offset(shape: tuple[int, ...], indices: tuple[Expr, ...]) -> Affine:
    """The element offset of [indices] in a row-major array of `shape`."""
    total, stride = Affine((), 0), 1
    for i, extent in zip(reversed(indices), reversed(shape), strict=True):
        total = total + affine(i).scale(stride)
        stride *= extent
    return total


@memo
def _range_of_sum(form: Affine) -> Range | None:
    return form.compute_range(None)


@memo
def _range_of_atom(atom: Expr) -> Range | None:
    r = atom_range(atom, range_of)
    return r if r is None else narrow_quotient(atom, r)


def narrow_quotient(atom: Expr, r: Range) -> Range:
    """The interval of an atom, of at most `r`, where that is a quotient by a size, which may be a factor of the lengths
    of loops: n // b is less than a for each n < a * b."""
    match atom:
        case Binary("//", a, b) if not isinstance(b, Const):
            form = affine(a)
            if any(_end_of(v) is not None for v, _ in form.terms):
                low, high = (divide_by_size("//", end, affine(b)).range() for end in form.ends())
                return r if low is None or high is None else (max(r[0], low[0]), min(r[1], high[1]))
    return r


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


@memo
def divide(op: str, x: Affine, divisor: int) -> Affine:
    """x // divisor or x % divisor, for a positive divisor."""
    for identity in DIVISIONS:
        found = identity(op, x, divisor)
        if found is not None:
            return found
    return Affine(((Binary(op, x.to_expr(), Const(divisor)), 1),), 0)


@memo
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
