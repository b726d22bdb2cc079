"""Which tensors share a kernel. A kernel computes one tensor, and has at most one reduction.

- A reduction takes in the element-wise maps that follow it (its epilogue: bias, activation, residual), each read at
  the very index that is computed. Where two reductions meet in a map, the one over more axes takes it, or else the
  longer: so a residual block's 1x1 shortcut is computed by itself, and the convolution beside it (or its last step, a
  transform) is the same kernel as those of other blocks.
- A map is inlined into what reads it where that repeats no arithmetic, or where it only moves data.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from ..ir.index import affine
from ..ir.nodes import Binary, Buffer, Cast, Const, Expr, Load, Node, Origin, Select, Unary, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import children, loads, rewrite_top_down, substitute, walk
from ..ir.simplify import simplify_expr
from .program import TensorProgram
from .tensor import Tensor

BODY_LIMIT = 400
"""Nodes of an expression beyond which nothing more is inlined into it."""

DEPTH_LIMIT = 64
"""Levels of an expression beyond which nothing more is inlined into it: walks recurse as deep as expressions are, and a
mathematical function adds some thirty levels. A kernel of so many maps in a row gains little by one more."""

EPILOGUE_LIMIT = 16
"""Maps between a value and where all that reads it meets again; beyond, the search is given up."""


DIVISION_LIMIT = 8
"""Divisions and remainders in one index beyond which it is not substituted further: a chain of reshapes and transposes
that do not cancel doubles them at every link, and costs more than a copy."""


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """One kernel to be: `output` = `body` over `axes`, where loads of `anchor` mean the reduction `reduce`.

    `reads` are the tensors it loads (materialised ones and constants). `anchor` is None for a map.
    `scratch` is memory for the kernel's own use, which holds nothing before it and nothing after.
    """

    output: Tensor
    axes: tuple[Var, ...]
    body: Expr
    anchor: Buffer | None
    reduce: Reduce | None
    reads: tuple[Tensor, ...]
    origin: Origin
    scratch: tuple[Tensor, ...] = ()


class Measure(NamedTuple):
    """Nodes and levels of an expression as a tree."""

    size: int
    depth: int

    @property
    def is_too_large(self) -> bool:
        """Whether nothing more may be inlined into such an expression."""
        return self.size > BODY_LIMIT or self.depth > DEPTH_LIMIT


def fuse(program: TensorProgram, most_reads: int | None = None) -> tuple[Group, ...]:
    """The groups in an order of execution. None reads more than `most_reads` tensors if no tensor does."""
    plan = _Plan(program, most_reads)
    return tuple(plan.group(t) for t in program.tensors if t not in plan.inlined and t not in plan.absorbed)


class _Plan:
    """The decisions: `inlined` maps, and reductions `absorbed` into the map that ends their epilogue."""

    def __init__(self, program: TensorProgram, most_reads: int | None) -> None:
        self.program = program
        self._most_reads = most_reads
        self.by_buffer = {t.buffer: t for t in program.tensors}
        self.stored = {t for _, t in program.outputs} | program.stored | {t for t in program.tensors if t.prepared}
        self.readers: dict[Tensor, list[Tensor]] = {}
        for t in program.tensors:
            for r in t.reads:
                self.readers.setdefault(r, []).append(t)
        self.inlined: set[Tensor] = set()
        self.absorbed: dict[Tensor, Tensor] = {}
        self._anchor_of: dict[Tensor, Tensor] = {}
        self._measures: dict[Buffer, Measure] = {}
        self._inlined_bodies: dict[Tensor, tuple[Expr, frozenset[Tensor]]] = {}
        self._order = {t: i for i, t in enumerate(program.tensors)}
        for t in sorted(program.tensors, key=lambda t: (*_extent(t), self._order[t]), reverse=True):
            if t.is_reduction:
                self._extend_epilogue(t)
        for t in program.tensors:
            if t not in self.inlined and t not in self.absorbed and self._may_inline(t):
                self.inlined.add(t)

    def _extend_epilogue(self, anchor: Tensor) -> None:
        """Takes in maps behind the reduction as long as all that reads it meets again in one map (x * sigmoid(x))."""
        current = anchor
        while current not in self.stored:
            between, meeting = self._meeting(current)
            if meeting is None:
                break
            before = dict(self._measures)
            for t in (*between, *([] if current is anchor else [current])):
                self._measures[t.buffer] = self._measure(t)
            members = {*self._members(current), *between, meeting}
            if self._measure(meeting).is_too_large or self._too_many_reads(members):
                self._measures = before
                break
            self.inlined.update(between)
            if current is not anchor:
                self.inlined.add(current)
            for t in (*between, meeting):
                self._anchor_of[t] = anchor
            current = meeting
        if current is not anchor:
            self.absorbed[anchor] = current

    def _meeting(self, start: Tensor) -> tuple[list[Tensor], Tensor | None]:
        """The map that every path from `start` leads to, and the maps on the way, which read nothing but `start` and
        each other at another element than they compute; None where there is no such map."""
        between: list[Tensor] = []
        open_ = set(self.readers.get(start, []))
        while open_:
            t = min(open_, key=self._order.__getitem__)
            inside = [r for r in t.reads if r is start or r in between]
            fits = not t.is_reduction and t.shape == start.shape and t not in self._anchor_of
            if not fits or not all(_reads_identity(t, r) for r in inside):
                break
            open_.remove(t)
            if not open_:
                return between, t
            if t in self.stored or len(between) == EPILOGUE_LIMIT:
                break
            between.append(t)
            open_.update(self.readers.get(t, []))
        return [], None

    def _may_inline(self, t: Tensor) -> bool:
        users = self.readers.get(t, [])
        if t in self.stored or t.is_reduction or t in self._anchor_of or not users:
            return False
        cheap = _is_movement(t.body)
        body = self._inlined_body(t)[0]
        measure = _tree(body)[0]
        if any(_divisions(i) > DIVISION_LIMIT for x in loads(body) for i in x.indices):
            return False
        if not all(self._fits(t, measure, user, cheap, len(users)) for user in users):
            return False
        self._measures[t.buffer] = measure
        return True

    def _fits(self, t: Tensor, measure: Measure, user: Tensor, cheap: bool, users: int) -> bool:
        assert user.body is not None
        sites = [x for x in loads(user.body) if x.buffer is t.buffer]
        reads = len({x.indices for x in sites})
        now = self._measure(user)
        own, counts = _tree(user.body)
        grown = Measure(now.size + measure.size * counts[t.buffer], max(now.depth, own.depth + measure.depth))
        if grown.is_too_large:
            return False
        if self._too_many_reads({*self._members(user), t}):
            return False
        if isinstance(user.body, Reduce):
            times = user.buffer.size * _count(user.body.axes)
            if times > max(t.buffer.size, 1):
                return cheap and _is_affine_movement(t)
            return cheap or (users == 1 and reads == 1)
        if cheap:
            return True
        return users == 1 and reads == 1 and user.buffer.size <= t.buffer.size

    def _members(self, t: Tensor) -> set[Tensor]:
        """What is known to share a kernel with `t`, apart from inlined maps."""
        anchor = t if t.is_reduction else self._anchor_of.get(t)
        return {t} if anchor is None else {anchor, *(m for m, a in self._anchor_of.items() if a is anchor)}

    def _too_many_reads(self, members: set[Tensor]) -> bool:
        """Whether a kernel of `members`, and of the maps inlined into them, reads more tensors than a kernel may."""
        if self._most_reads is None:
            return False
        found: set[Tensor] = set()
        open_, seen = list(members), set(members)
        while open_:
            for r in open_.pop().reads:
                if r in self.inlined and r not in seen:
                    seen.add(r)
                    open_.append(r)
                elif r not in members and r not in self.inlined:
                    found.add(r)
        return len(found) > self._most_reads

    def _measure(self, t: Tensor) -> Measure:
        """Of the body with what was inlined into it so far, which counts wherever it is read."""
        own, sites = _tree(t.body)
        inner = [(self._measures[buffer], n) for buffer, n in sites.items() if buffer in self._measures]
        size = own.size + sum(n * m.size for m, n in inner)
        return Measure(size, own.depth + max((m.depth for m, _ in inner), default=0))

    def group(self, output: Tensor) -> Group:
        assert output.body is not None
        anchor = output if output.is_reduction else self._anchor_of.get(output)
        origins: set[Tensor] = set()
        reduction: Reduce | None = None
        if anchor is not None:
            assert isinstance(anchor.body, Reduce)
            env = dict(zip(anchor.axes, output.axes, strict=True))
            value = substitute(anchor.body.value, env)
            value = simplify_expr(self._inline(value, origins))
            reduction = Reduce(anchor.body.op, anchor.body.axes, value, anchor.body.init)
            origins.add(anchor)
        if output is anchor:
            body: Expr = Load(output.buffer, output.axes)
        else:
            body = simplify_expr(self._inline(output.body, origins))
            origins.add(output)
        used = {x.buffer for e in (body, reduction) if e is not None for x in loads(e)}
        reads = _materialised(output, used, anchor)
        origin = Origin()
        for t in sorted(origins, key=lambda t: self._order[t]):
            origin = origin + self.program.origins[t]
        buffer = None if anchor is None else anchor.buffer
        return Group(output, output.axes, body, buffer, reduction, reads, origin)

    def _inline(self, e: Expr, origins: set[Tensor]) -> Expr:
        def rule(n: object) -> Expr | None:
            if not isinstance(n, Load):
                return None
            t = self.by_buffer.get(n.buffer)
            indices = tuple(self._inline(i, origins) for i in n.indices)
            guard = None if n.guard is None else self._inline(n.guard, origins)
            if t is None or t not in self.inlined:
                return Load(n.buffer, indices, guard)
            body, behind = self._inlined_body(t)
            origins.update(behind)
            value = substitute(body, dict(zip(t.axes, indices, strict=True)))
            return value if guard is None else guarded(guard, value)

        return rewrite_top_down(e, rule)

    def _inlined_body(self, t: Tensor) -> tuple[Expr, frozenset[Tensor]]:
        """The body of `t` with all that is inlined into it, and the tensors it then stands for.

        Asked for only when the tensors before `t` are decided. Simplified at every step: the indices of a chain of
        reshapes and transposes multiply, and would else reach any size before something cancels.
        """
        known = self._inlined_bodies.get(t)
        if known is None:
            assert t.body is not None
            origins = {t}
            body = simplify_expr(self._inline(t.body, origins))
            known = self._inlined_bodies[t] = body, frozenset(origins)
        return known


def guarded(guard: Expr, value: Expr) -> Expr:
    """`value` where `guard` holds, else zero; its loads touch memory only there."""
    if isinstance(value, Load) and value.guard is None:
        return Load(value.buffer, value.indices, guard)

    def rule(n: object) -> Expr | None:
        if isinstance(n, Load):
            return Load(n.buffer, n.indices, guard if n.guard is None else n.guard & guard)
        return None

    inner = rewrite_top_down(value, rule)
    zero = Const(0.0 if value.dtype.is_float else 0, value.dtype)
    return Select(guard, inner, zero)


def _materialised(output: Tensor, used: set[Buffer], anchor: Tensor | None) -> tuple[Tensor, ...]:
    found: dict[Tensor, None] = {}
    seen: set[Tensor] = set()

    def visit(t: Tensor) -> None:
        if t in seen:
            return
        seen.add(t)
        for r in t.reads:
            if r.buffer in used and r is not anchor:
                found[r] = None
            else:
                visit(r)

    visit(output)
    # A buffer may be reached both through an inlined tensor and beside it: look behind what was found, too.
    missing = used - {t.buffer for t in found} - ({anchor.buffer} if anchor else set())
    stack = list(found)
    while missing and stack:
        t = stack.pop()
        for r in t.reads:
            if r.buffer in missing:
                found[r] = None
                missing.discard(r.buffer)
            stack.append(r)
    return tuple(found)


def _reads_identity(user: Tensor, t: Tensor) -> bool:
    assert user.body is not None
    sites = [x for x in loads(user.body) if x.buffer is t.buffer]
    return all(x.guard is None and _is_identity(x.indices, user.axes) for x in sites)


def _is_identity(indices: tuple[Expr, ...], axes: tuple[Var, ...]) -> bool:
    return len(indices) == len(axes) and all(affine(i) == affine(a) for i, a in zip(indices, axes, strict=True))


def _is_movement(body: Expr | None) -> bool:
    """No arithmetic on elements: loads, selections by index, conversions, constants."""
    match body:
        case Load() | Const():
            return True
        case Cast(_, a):
            return _is_movement(a)
        case Select(cond, a, b):
            return not any(True for _ in loads(cond)) and _is_movement(a) and _is_movement(b)
        case Var() | Unary() | Binary():
            return not any(True for _ in loads(body)) and sum(1 for _ in walk(body)) < 8
    return False


def _is_affine_movement(t: Tensor) -> bool:
    """A plain load at an affine index: free to inline even where elements are read many times."""
    return isinstance(t.body, Load) and t.body.guard is None and all(affine(i).variables_only for i in t.body.indices)


def _tree(body: Expr | None) -> tuple[Measure, Counter[Buffer]]:
    """The measure of an expression and how often it reads each buffer, where shared parts count each time."""
    done: dict[int, tuple[Measure, Counter[Buffer]]] = {}

    def go(n: Node) -> tuple[Measure, Counter[Buffer]]:
        if id(n) not in done:
            size, depth, sites = 1, 0, Counter[Buffer]()
            for c in children(n):
                inner, inner_sites = go(c)
                size += inner.size
                depth = max(depth, inner.depth)
                sites.update(inner_sites)
            if isinstance(n, Load):
                sites[n.buffer] += 1
            done[id(n)] = Measure(size, depth + 1), sites
        return done[id(n)]

    assert body is not None
    return go(body)


def _divisions(index: Expr) -> int:
    """How often an expression, as a tree, divides."""
    done: dict[int, int] = {}

    def go(n: Node) -> int:
        if id(n) not in done:
            here = isinstance(n, Binary) and n.op in ("//", "%")
            done[id(n)] = here + sum(go(c) for c in children(n))
        return done[id(n)]

    return go(index)


def _extent(t: Tensor) -> tuple[int, int]:
    """Over how many axes, and over how many elements, a reduction goes; zeros for a map."""
    axes = t.body.axes if isinstance(t.body, Reduce) else ()
    return sum(a.extent > 1 for a in axes), _count(axes) if axes else 0


def _count(axes: tuple[Var, ...]) -> int:
    n = 1
    for a in axes:
        n *= a.extent
    return n
