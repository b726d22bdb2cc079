"""Whether an access stays inside its buffer: a proof from the ranges of its indices and the conditions around it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import gcd

from ..dtypes import I32
from .index import Affine, affine, divide_terms, is_size, narrow_quotient, range_of
from .intervals import Range, atom_range
from .lanes import Ramp, Splat, lanes_of
from .nodes import Binary, Const, Expr, Load, Scalar, Store, Unary, Var
from .rewrite import loads, walk
from .value_ranges import INT32, Ranges, within


def unproved_index(x: Load | Store, conditions: Iterable[Expr] = ()) -> int | None:
    """The first dimension of the buffer whose index is not proved to be inside wherever `conditions` and the guard of
    the access hold; None where the access stays inside. Nothing is proved by arithmetic that may leave int32."""
    pairs = enumerate(zip(x.indices, x.buffer.shape, strict=True))
    unclear = [(d, index, extent) for d, (index, extent) in pairs if not _evident(index, extent)]
    if not unclear:
        return None
    guard = x.guard if isinstance(x, Load) else None
    known = tuple(conditions) if guard is None else (*conditions, guard)
    ranges, counted = ConditionalRanges(known), Ranges({})
    wraps = any(_may_wrap(c, counted) for c in known)
    for d, index, extent in unclear:
        low, high = ranges.of(index)
        reachable = low <= high  # else the conditions contradict each other
        if wraps or _may_wrap(index, counted) or (reachable and (low < 0 or high >= extent)):
            return d
    return None


def leaves_int32(x: Load) -> bool:
    """Whether arithmetic in the indices or the guard of a load may leave int32: then little is proved of it."""
    counted = Ranges({})
    return any(_may_wrap(e, counted) for e in (*x.indices, *(() if x.guard is None else (x.guard,))))


def _evident(index: Expr, extent: int) -> bool:
    """Whether no analysis is needed to see that the index is inside, whatever the conditions are: most are an axis."""
    match index:
        case Var() if not isinstance(index, Scalar):
            return 0 < index.extent <= extent
        case Const(value, _):
            return 0 <= int(value) < extent
    return False


def _may_wrap(e: Expr, ranges: Ranges) -> bool:
    """Whether int32 arithmetic on loop variables alone may wrap around."""
    arithmetic = (n for n in walk(e) if isinstance(n, Unary | Binary) and n.dtype == I32)
    return any(not within(ranges.unwrapped(n), INT32) and not any(True for _ in loads(n)) for n in arithmetic)


def _wraps(e: Expr, ranges: Ranges) -> bool:
    """Whether int32 arithmetic, on loaded elements too, may wrap around: then `Ranges`, which allows for that,
    bounds the result."""
    arithmetic = (n for n in walk(e) if isinstance(n, Unary | Binary) and n.dtype == I32)
    return any(not within(ranges.unwrapped(n), INT32) for n in arithmetic)


class ConditionalRanges:
    """Intervals of indices wherever `conditions` hold.

    A condition that compares affine forms says that a form f is >= 0. So a form F is at least the least value of F - f
    and at most the greatest of F + f, where terms cancel. For what conditions say of loaded elements there is `Ranges`.
    """

    def __init__(self, conditions: Iterable[Expr] = ()) -> None:
        self._forms: list[Affine] = []
        self._ranges = Ranges({})
        self._found: dict[Expr, Range] = {}
        self._atoms: dict[Expr, Range] = {}
        for c in conditions:
            # Terms cancel as those of whole numbers do, which sums that wrap around are not.
            exact = (x for x in conjuncts(c) if not _wraps(x, self._ranges))
            self._forms += (f for x in exact for form in nonnegative(x) for f in _consequences(_tightened(form)))
            self._ranges = self._ranges.where(c, True)

    def of(self, e: Expr) -> Range:
        """The interval of an int32 expression, of all its lanes."""
        found = self._found.get(e)
        if found is None:
            found = self._found[e] = self._find(e)
        return found

    def _find(self, e: Expr) -> Range:
        match e:
            case Splat(a, _):
                return self.of(a)
            case Ramp(base, lanes):
                low, high = self.of(base)
                return low, high + lanes - 1
            case _ if lanes_of(e) > 1:
                return self._ranges.of(e)
        least, most = self._ranges.of(e)
        if _wraps(e, self._ranges):
            return least, most
        form = affine(e)
        low, high = self._of_form(form)
        atoms = {a for a, _ in form.terms}
        for f in self._forms_over(atoms):
            # Other atoms of the condition alone would stay, and their intervals lead back to it.
            if all(a in atoms or is_size(a) for a, _ in f.terms):
                factor = max((abs(form.coefficient(a) // c) for a, c in f.terms), default=1)
                for g in (f, f.scale(factor)):
                    low = max(low, self._of_form(form + g.scale(-1))[0])
                    high = min(high, self._of_form(form + g)[1])
        return max(low, least), min(high, most)

    def _forms_over(self, atoms: Collection[Expr]) -> Iterator[Affine]:
        """The known forms >= 0, also after the divisions that occur among the atoms."""
        quotients = (a for a in atoms if isinstance(a, Binary) and a.op == "//" and isinstance(a.b, Const))
        divisors = {int(a.b.value) for a in quotients if isinstance(a.b, Const) and a.b.value > 0}
        for form in self._forms:
            yield form
            yield from (_divided(form, c) for c in divisors)
        for atom in atoms:
            yield from self._of_division(atom)

    def _of_division(self, atom: Expr) -> Iterator[Affine]:
        """Forms that are >= 0 by a division by a size s: k - 1 - x // s, and s - 1 - x % s, where 0 <= x < k * s, hence
        s > 0. x may be such a quotient itself: the loops of several sizes that vary are one loop, divided again."""
        if not (isinstance(atom, Binary) and atom.op in ("//", "%") and is_size(atom.b)) or isinstance(atom.b, Const):
            return
        x, divisor = affine(atom.a), affine(atom.b)
        size = range_of(atom.b)
        if size is None or size[0] < 0 or self._of_form(x)[0] < 0:
            return
        for form in self._forms_over([a for a, _ in x.terms]):
            times, rest = divide_terms(form + x + Affine((), 1), divisor)
            if not rest.terms and not rest.constant:
                yield (times if atom.op == "//" else divisor) + Affine(((atom, -1),), -1)

    def _of_form(self, form: Affine) -> Range:
        found = form.range(self._of_atom)
        assert found is not None
        return found

    def _of_atom(self, e: Expr) -> Range:
        found = self._atoms.get(e)
        if found is None:
            found = self._atoms[e] = self._find_of_atom(e)
        return found

    def _find_of_atom(self, e: Expr) -> Range:
        if is_size(e):
            return range_of(e) or self._ranges.of(e)
        low, high = narrow_quotient(e, atom_range(e, self.of) or self._ranges.of(e))
        for form in self._of_division(e):
            most = (form + Affine(((e, 1),), 0)).range()
            low, high = max(low, 0), high if most is None else min(high, most[1])
        return low, high


def _tightened(form: Affine) -> Affine:
    """The least form that is >= 0 where `form` is: 4 * i - 6 >= 0 means 4 * i - 8 >= 0."""
    factor = gcd(*(c for _, c in form.terms))
    return form if factor < 2 else Affine(form.terms, form.constant // factor * factor)


def _divided(form: Affine, divisor: int) -> Affine:
    """e <= k means e // divisor <= k // divisor, for a form k - e that is >= 0."""
    e = Affine(form.terms, 0).scale(-1).to_expr()
    return Affine((), form.constant // divisor) + affine(Binary("//", e, Const(divisor))).scale(-1)


def _consequences(form: Affine) -> Iterator[Affine]:
    """Forms that are >= 0 where `form` is: e // d >= k means e >= k * d, and e % d is e - e // d * d. Only for sizes
    that vary: for others intervals are enough."""
    yield form
    if not any(_varies(atom) for atom, _ in form.terms):
        return
    match form.terms:
        case ((Binary("//", e, Const(d, _)), 1),) if d > 0:
            yield from _consequences(affine(e) + Affine((), form.constant * int(d)))
        case ((Binary("%", e, Const(d, _) as divisor), c),) if d > 0:
            quotient = affine(Binary("//", e, divisor))
            yield (affine(e) + quotient.scale(-int(d))).scale(c) + Affine((), form.constant)


def _varies(e: Expr) -> bool:
    """Whether a size that a run decides is in an expression, or the length of a loop in it."""
    return any(isinstance(n, Scalar) or (isinstance(n, Var) and n.length is not None) for n in walk(e))


def conjuncts(e: Expr) -> list[Expr]:
    """The conditions that hold together where `e` holds, in order."""
    found, stack = [], [e]
    while stack:
        c = stack.pop()
        if isinstance(c, Binary) and c.op == "and":
            stack += (c.b, c.a)
        else:
            found.append(c)
    return found


def nonnegative(cond: Expr) -> Iterator[Affine]:
    """The affine forms that are >= 0 wherever `cond` holds."""
    for c in conjuncts(cond):
        match c:
            case Binary("<=", a, b):
                yield affine(b - a)
            case Binary("<", a, b) | Unary("not", Binary("<=", b, a)):
                yield affine(b - a - 1)
            case Unary("not", Binary("<", a, b)):
                yield affine(a - b)
