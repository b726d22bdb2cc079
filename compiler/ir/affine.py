"""Canonical forms of index arithmetic: sums of multiples of variables, and of what is not a sum, plus a constant."""

from __future__ import annotations

from math import gcd

from .frozen import frozen
from .nodes import Binary, Const, Expr, Unary, Var
from .products import factors, has_scalars, product

Term = tuple[Expr, int]
"""An atom and its coefficient."""

COEFFICIENT, LIMIT = 1 << 10, 1 << 31
"""Coefficients up to the first are taken to leave int32 (the second) in no sum."""


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
        return merge([*self.terms, *other.terms], self.constant + other.constant)

    def scale(self, factor: int) -> Affine:
        if factor == 0:
            return Affine((), 0)
        return Affine(tuple((a, c * factor) for a, c in self.terms), self.constant * factor)

    def without(self, atom: Expr) -> Affine:
        return Affine(tuple((a, c) for a, c in self.terms if a != atom), self.constant)

    def is_multiple(self, divisor: int) -> bool:
        """Whether every term and the constant are multiples of `divisor`."""
        return self.constant % divisor == 0 and all(c % divisor == 0 for _, c in self.terms)

    @property
    def variables_only(self) -> bool:
        """Whether every atom is a loop variable or a scalar."""
        return all(isinstance(a, Var) for a, _ in self.terms)

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


def merge(terms: list[tuple[Expr, int]], constant: int) -> Affine:
    merged: dict[Expr, int] = {}
    for atom, c in terms:
        merged[atom] = merged.get(atom, 0) + c
    kept = {a: c for a, c in merged.items() if c}
    return Affine(tuple(kept.items()), constant) if len(kept) < 2 else identities.join(kept, constant)


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
    # The most frequent kinds, variables and sums, are tested first.
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
            if not (x.terms and y.terms):
                form = x.scale(y.constant) if not y.terms else y.scale(x.constant)
                return form if _adds_up(form) else Affine(((e, 1),), 0)
            if (product := multiply(x, y)) is not None:
                return product
            return Affine(((Binary("*", x.to_expr(), y.to_expr()), 1),), 0)
        case "//" | "%" if isinstance(b, Const) and int(b.value) > 0:
            return identities.divide(op, affine(a), int(b.value))
        case "//" | "%" if not isinstance(b, Const) and has_scalars(divisor := affine(b)):
            return identities.divide_by_size(op, affine(a), divisor)
        case "max" | "min":
            return identities.extreme(op, affine(a), affine(b))
    return Affine(((e, 1),), 0)


def _adds_up(form: Affine) -> bool:
    """Whether no sum of some of the terms leaves int32, as the whole does not: those of (i - i // 3 * 3) * 50176 may,
    where they cancel."""
    if len(form.terms) < 2 or all(abs(c) < COEFFICIENT for _, c in form.terms):
        return True
    low = high = 0
    for atom, c in form.terms:
        if (ends := facts.range_of(atom)) is None:
            return all(abs(factor) < LIMIT for _, factor in form.terms)
        low += min(c * ends[0], c * ends[1], 0)
        high += max(c * ends[0], c * ends[1], 0)
    return low == 0 or high == 0 or (low >= -LIMIT and high < LIMIT)


def multiply(x: Affine, y: Affine) -> Affine | None:
    """The product of two polynomials of variables, at least one of which has a scalar; None for others."""
    if not (has_scalars(x) or has_scalars(y)):
        return None
    terms: list[tuple[Expr, int]] = []
    for some, c in _polynomial(x):
        for others, d in _polynomial(y):
            if some is None or others is None:
                return None
            if some or others:
                terms.append((product((*some, *others)), c * d))
    return merge(terms, x.constant * y.constant)


def _polynomial(form: Affine) -> list[tuple[tuple[Expr, ...] | None, int]]:
    """Factors and coefficient of each term, the constant last."""
    return [*((factors(a), c) for a, c in form.terms), ((), form.constant)]


def divide_terms(x: Affine, y: Affine) -> tuple[Affine, Affine]:
    """(q, r) where x = q * y + r, and r has no term that is a multiple of y's leading one."""
    quotient, rest = Affine((), 0), x
    while (q := _leading_quotient(rest, y)) is not None:
        multiple = multiply(q, y) if q.terms else y.scale(q.constant)
        if multiple is None:
            break
        quotient, rest = quotient + q, rest + multiple.scale(-1)
    return quotient, rest


def _leading_quotient(x: Affine, y: Affine) -> Affine | None:
    """A term of x divided by the term of y that has the most factors; None where that divides none."""
    if not y.terms:
        return None
    leading = max(y.terms, key=lambda term: len(factors(term[0]) or ()))
    quotients = (divide_term(term, leading) for term in x.terms)
    return next((q for q in quotients if q is not None), None)


def divide_term(term: Term, by: Term) -> Affine | None:
    """The quotient of two terms; None where that is no product of factors of the first."""
    left = list(factors(term[0]) or ())
    divisors = factors(by[0])
    if not divisors or term[1] % by[1] or any(left.count(v) < divisors.count(v) for v in divisors):
        return None
    for v in divisors:
        left.remove(v)
    quotient = term[1] // by[1]
    return Affine(((product(tuple(left)), quotient),), 0) if left else Affine((), quotient)


def common_factor(x: Term, y: Term) -> Affine:
    """The greatest product of factors that both terms have; a constant where they have none."""
    left, shared = list(factors(x[0]) or ()), []
    for v in factors(y[0]) or ():
        if v in left:
            left.remove(v)
            shared.append(v)
    coefficient = gcd(x[1], y[1])
    return Affine(((product(tuple(shared)), coefficient),), 0) if shared else Affine((), coefficient)


def flat_offset(shape: tuple[int, ...], indices: tuple[Expr, ...]) -> Affine:
    """The element offset of [indices] in a row-major array of `shape`."""
    total, stride = Affine((), 0), 1
    for i, extent in zip(reversed(indices), reversed(shape), strict=True):
        total = total + affine(i).scale(stride)
        stride *= extent
    return total


# Last, as these use canonical forms: forms, their identities and the facts that decide these are one recursion,
# which ends as `facts` says.
from . import facts, identities  # noqa: E402
