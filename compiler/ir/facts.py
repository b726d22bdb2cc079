"""Values of integers, computed in one place: intervals and comparisons, which conditions narrow.

Canonical forms are computed with facts, and facts from canonical forms. The recursion terminates because each query of
a sum is smaller than the one that led to it, by the pair (L, N) in lexicographic order (tests/ir/test_facts.py):
- L: the variables of dynamic loops in the sum, counted by how deep lengths nest, the deepest first. `lengths.ends`
  replaces variables by their lengths, whose own variables are less deep; nothing else adds one.
- N: the operations in the sum's atoms. An atom is bounded by its operands; an identity queries the operands of the
  quotient or extreme that it replaces.
Relaxations, which go beyond that, are counted (`lengths.RELAXED`, `MOST_FORMS`); conditions become forms once. Results
are kept: a proof about a size needs the interval of a term at every level of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from ..dtypes import I32
from .affine import Affine, affine, divide_terms, multiply
from .conditions import conjuncts, consequences, divided, nonnegative, tightened
from .identities import divide_by_size
from .intervals import Range, binary_range, by_sum, of_unknown, union
from .lanes import Ramp, Splat, lanes_of
from .lengths import depends_on_length, ends, may_relax, most_by_relaxing
from .machine_facts import Element, MachineFacts, of_variable
from .memo import MOST, at_end
from .nodes import Binary, Buffer, Const, Expr, Select, Var
from .products import is_size

NOTHING: Range = 1 << 64, -(1 << 64)
"""The values of what conditions that contradict each other leave: none, in sums, too."""

OF_INDICES = frozenset({"*", "//", "%", "/", "shr", "and", "max", "min"})
"""Operations of indices besides sums."""


class Facts(MachineFacts):
    """The values of expressions, where `buffers` have elements in these ranges (of others `Buffer.values`, or all of
    their type). With None for `buffers` nothing is known of what is loaded, and arithmetic on it is no index's.

    There are two kinds of queries. `of` is about integers of any type as machines compute them, wrapped around.
    `index` is about int32 indices as whole numbers: terms cancel, and conditions (`assuming`) that compare sums count.
    """

    def __init__(
        self,
        buffers: Mapping[Buffer, Range] | None,
        elements: tuple[Element, ...] = (),
        forms: tuple[Affine, ...] = (),
    ) -> None:
        super().__init__(buffers, elements)
        self._forms = forms
        self._indices: dict[Expr, Range] = {}
        self._atom = lru_cache(MOST)(self._find_atom)
        self._long_sum = lru_cache(MOST)(self._find_sum)

    def clear(self) -> None:
        """Drops what was kept of sums and their atoms."""
        self._atom.cache_clear()
        self._long_sum.cache_clear()

    def _with(self, elements: tuple[Element, ...]) -> Facts:
        return Facts(self._buffers, elements, self._forms)

    def assuming(self, conditions: Iterable[Expr]) -> Facts:
        """Facts where all `conditions` hold: about sums, too. A condition says that a form f is >= 0; so a form F is at
        least the least value of F - f and at most the greatest of F + f, where terms cancel."""
        facts, forms = self, list(self._forms)
        for c in conditions:
            # Terms cancel as those of whole numbers do, which sums that wrap around are not.
            exact = (x for x in conjuncts(c) if not facts.wraps(x))
            forms += (f for x in exact for form in nonnegative(x) for f in consequences(tightened(form)))
            facts = facts.where(c, True)
        return Facts(facts._buffers, facts._elements, tuple(forms))

    def index(self, e: Expr) -> Range:
        """The values of an int32 index, of all its lanes; none where conditions contradict each other."""
        interval = self._indices.get(e)
        if interval is None:
            interval = self._indices[e] = self._find_index(e)
        return interval

    def _find_index(self, e: Expr) -> Range:
        match e:
            case Splat(a, _):
                return self.index(a)
            case Ramp(base, lanes):
                low, high = self.index(base)
                return low, high + lanes - 1
            case _ if lanes_of(e) > 1:
                return self.of(e)
        least, most = self.of(e)
        if self.wraps(e):
            return least, most
        form = affine(e)
        low, high = self._known_sum(form)
        atoms = {a for a, _ in form.terms}
        for f in self._forms_over(atoms):
            # Other atoms of the condition alone would stay, and their intervals lead back to it.
            if all(a in atoms or is_size(a) for a, _ in f.terms):
                factor = max((abs(form.coefficient(a) // c) for a, c in f.terms), default=1)
                for g in (f, f.scale(factor)):
                    low = max(low, self._known_sum(form + g.scale(-1))[0])
                    high = min(high, self._known_sum(form + g)[1])
        return max(low, least), min(high, most)

    def sum(self, form: Affine) -> Range | None:
        """The values of a form by those of its atoms; None where nothing is known of one."""
        return self._long_sum(form) if len(form.terms) > 1 else self._find_sum(form)

    def _known_sum(self, form: Affine) -> Range:
        interval = self.sum(form)
        assert interval is not None, form
        return interval

    def _find_sum(self, form: Affine) -> Range | None:
        interval = self._by_atoms(form)
        if interval is None:
            return None
        lo, hi = interval
        if depends_on_length(form, range_of_sum):
            # A dynamic loop's variable is at most its length - 1: scalars of the length may cancel others.
            least, most = ends(form, range_of_sum)
            low, high = self.sum(least), self.sum(most)
            if high is not None:
                hi = min(hi, high[1], most_by_relaxing(most, self._by_atoms))
            if low is not None:
                lo = max(lo, low[0], -most_by_relaxing(least.scale(-1), self._by_atoms))
            for joined in _by_joined_quotients(form):
                lo, hi = max(lo, joined[0]), min(hi, joined[1])
        elif len(form.terms) > 1 and any(may_relax(atom) for atom, _ in form.terms):
            lo = max(lo, -most_by_relaxing(form.scale(-1), self._by_atoms))
            hi = min(hi, most_by_relaxing(form, self._by_atoms))
        return lo, hi

    def _by_atoms(self, form: Affine) -> Range | None:
        """The interval of a form by those of its atoms alone."""
        lo = hi = form.constant
        for atom, c in form.terms:
            r = of_variable(atom) if isinstance(atom, Var) else self._atom(atom)
            if r is None:
                return None
            lo += c * (r[0] if c > 0 else r[1])
            hi += c * (r[1] if c > 0 else r[0])
        return lo, hi

    def _find_atom(self, e: Expr) -> Range | None:
        if is_size(e) and self is not EVERYWHERE:
            return range_of(e) or self.of(e)
        r = self._by_operands(e)
        if r is None:
            if self._buffers is None:
                return None
            r = self.of(e)
        low, high = _by_length_of_dividend(e, r)
        for form in self._of_division(e):
            most = range_of_sum(form + Affine(((e, 1),), 0))
            low, high = max(low, 0), high if most is None else min(high, most[1])
        return low, high

    def _whole(self, e: Expr) -> Range | None:
        """The values of an operand of an index."""
        if self._buffers is not None:
            return self.index(e)
        return self.sum(affine(e)) if e.dtype == I32 else None

    def _by_operands(self, e: Expr) -> Range | None:
        match e:
            case Const(value, _):
                return int(value), int(value)
            case Select(_, a, b):
                x, y = self._whole(a), self._whole(b)
                return None if x is None or y is None else union(x, y)
            case Binary(op, a, b) if op in OF_INDICES:
                x, y = self._whole(a), self._whole(b)
                if y is None or (op in ("//", "%", "/") and y[0] < 1):
                    return None
                if x is None or (op == "/" and x[0] < 0):
                    return of_unknown(op, y)
                if x[0] > x[1] or y[0] > y[1]:
                    return NOTHING
                r = binary_range(op, x, y, I32)
                if op in ("max", "min") and (total := self._whole(a + b)) is not None:
                    return by_sum(op, r, total)
                return r
        return None

    def _forms_over(self, atoms: Iterable[Expr]) -> Iterator[Affine]:
        """The known forms >= 0, also after the divisions that occur among the atoms."""
        quotients = (a for a in atoms if isinstance(a, Binary) and a.op == "//" and isinstance(a.b, Const))
        divisors = {int(a.b.value) for a in quotients if isinstance(a.b, Const) and a.b.value > 0}
        for form in self._forms:
            yield form
            yield from (divided(form, c) for c in divisors)
        for atom in atoms:
            yield from self._of_division(atom)

    def _of_division(self, atom: Expr) -> Iterator[Affine]:
        """Forms that are >= 0 by a division by a size s: k - 1 - x // s, and s - 1 - x % s, where 0 <= x < k * s, hence
        s > 0. x may be such a quotient itself: the loops of several sizes that vary are one loop, divided again."""
        if not (isinstance(atom, Binary) and atom.op in ("//", "%") and is_size(atom.b)) or isinstance(atom.b, Const):
            return
        x, divisor = affine(atom.a), affine(atom.b)
        size = range_of(atom.b)
        if not self._forms or size is None or size[0] < 0 or self._known_sum(x)[0] < 0:
            return
        for form in self._forms_over([a for a, _ in x.terms]):
            times, rest = divide_terms(form + x + Affine((), 1), divisor)
            if not rest.terms and not rest.constant:
                yield (times if atom.op == "//" else divisor) + Affine(((atom, -1),), -1)

    def decide(self, op: str, a: Expr, b: Expr) -> bool | None:
        """The truth of an int32 comparison where the values decide it."""
        difference = self.sum(affine(a) + affine(b).scale(-1))
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


EVERYWHERE = Facts(None)
"""Facts that need no condition, of index arithmetic alone: canonical forms rest on these."""

at_end(EVERYWHERE.clear)

range_of_sum = EVERYWHERE.sum
decide = EVERYWHERE.decide


def range_of(e: Expr) -> Range | None:
    """The values of an int32 expression; None where nothing is known (of what is loaded from memory)."""
    return EVERYWHERE._whole(e)


def _by_joined_quotients(form: Affine) -> Iterator[Range]:
    """Intervals of r + x // n and of r - x // n, for a product of sizes n, by the lengths of loops that r and x have in
    common: they are (r * n + x) // n and -((x - r * n) // n)."""
    for atom, c in form.terms if len(form.terms) > 1 else ():
        if abs(c) != 1 or not isinstance(atom, Binary) or atom.op != "//" or isinstance(atom.b, Const):
            continue
        divisor, rest = affine(atom.b), form.without(atom).scale(c)
        span = range_of_sum(divisor) if len(divisor.terms) == 1 and not divisor.constant else None
        whole = multiply(rest, divisor) if span is not None and span[0] > 0 else None
        if whole is None or not depends_on_length(rest, range_of_sum):
            continue
        low, high = (
            range_of_sum(divide_by_size("//", end, divisor)) for end in ends(whole + affine(atom.a), range_of_sum)
        )
        if low is not None and high is not None:
            yield (low[0], high[1]) if c > 0 else (-high[1], -low[0])


def _by_length_of_dividend(atom: Expr, r: Range) -> Range:
    """The interval of an atom, of at most `r`, where that is a quotient by a size, which may be a factor of the lengths
    of loops: n // b is less than a for each n < a * b."""
    match atom:
        case Binary("//", a, b) if not isinstance(b, Const):
            form = affine(a)
            if depends_on_length(form, range_of_sum):
                low, high = (range_of_sum(divide_by_size("//", end, affine(b))) for end in ends(form, range_of_sum))
                return r if low is None or high is None else (max(r[0], low[0]), min(r[1], high[1]))
    return r
