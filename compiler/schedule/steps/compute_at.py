"""compute_at: the operands of a loop are computed inside it, band by band, into scratch memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import ScheduleError
from ...ir.affine import Affine, affine
from ...ir.facts import range_of_sum
from ...ir.nodes import Buffer, Expr, For, Load, Node, Seq, Stmt, Store, Var
from ...ir.rewrite import free_vars, loads, rewrite, substitute, walk
from ...ir.simplify import simplify_expr
from .loops import find_loop, on_loops

Regions = dict[Buffer, tuple[int, Expr]]
"""For buffers of which only a part is computed: the dimension, and the start of the part in it."""


def compute_at(nests: Sequence[Stmt], var: Var, start: Expr, count: int, scratch: Mapping[Buffer, Buffer]) -> Seq:
    """for r < 8: a[r] = x[r]; for h < 16: y[h] = a[h // 2]
    ->  for r < 2: a'[r] = x[2*b + r]; for h < 4: y[4*b + h] = a'[h // 2]   (start = 4*b, count = 4, scratch = {a: a'})

    One band of the last nest, the consumer: `count` iterations of its loop `var`, from `start` on. Each of the others
    produces one of the buffers of `scratch`, in order, restricted to the region that the band reads.

    Raises ScheduleError where that is no range of iterations of one loop, or exceeds the scratch memory.
    """
    inner, restricted = _restrict(nests[-1], var, start, count)
    readers, regions = [restricted], Regions()
    moved = {inner}
    for nest in reversed(nests[:-1]):
        buffer = next((n.buffer for n in walk(nest) if isinstance(n, Store) and n.buffer in scratch), None)
        if buffer is None:
            raise ScheduleError("compute_at: a producer stores to no scratch memory")
        dimension, low, extent = _region(buffer, readers, moved)
        if extent > scratch[buffer].shape[dimension]:
            raise ScheduleError(f"compute_at: a band reads {extent} of dimension {dimension} of {buffer.name}")
        inner, restricted = _restrict(nest, _storing_loop(nest, buffer, dimension), low, extent)
        regions[buffer] = (dimension, low)
        readers.insert(0, restricted)
        moved.add(inner)
    return Seq(tuple(_in_scratch(s, scratch, regions) for s in readers))


def reading_loop(nest: Stmt, buffer: Buffer, dimension: int) -> Var:
    """The loop of `nest` that indexes its reads of `buffer` in `dimension`. Raises ScheduleError unless it is one."""
    variables = {v for x in loads(nest) if x.buffer is buffer for v in free_vars(x.indices[dimension])}
    if len(variables) != 1:
        raise ScheduleError(f"compute_at: {len(variables)} loops move along dimension {dimension} of {buffer.name}")
    return variables.pop()


def _storing_loop(nest: Stmt, buffer: Buffer, dimension: int) -> Var:
    """The loop whose variable is the index of the store of `nest`."""
    index = next(n.indices[dimension] for n in walk(nest) if isinstance(n, Store) and n.buffer is buffer)
    for v in free_vars(index):
        if affine(index) == affine(v):
            return v
    raise ScheduleError(f"compute_at: {buffer.name} is not stored loop by loop in dimension {dimension}")


def _restrict(nest: Stmt, var: Var, start: Expr, count: int) -> tuple[Var, Stmt]:
    """The loop `var` restricted to `count` iterations; also returns their variable."""
    find_loop(nest, var)
    inner = Var(var.name, count)

    def change(loop: For) -> Stmt:
        return For(inner, substitute(loop.body, {var: start + inner}), loop.kind, loop.parallel)

    return inner, on_loops(nest, var, change)


def _region(buffer: Buffer, readers: Sequence[Stmt], moved: set[Var]) -> tuple[int, Expr, int]:
    """The dimension of `buffer` that loops in `moved` index, and the start and length of the region that is read."""
    place: tuple[int, Affine] | None = None
    least = greatest = 0
    for x in (x for s in readers for x in loads(s) if x.buffer is buffer):
        for d, index in enumerate(x.indices):
            if not free_vars(index) & moved:
                continue
            base, inside = _parts(affine(simplify_expr(index)), moved)
            r = range_of_sum(inside)
            if r is None or (place is not None and place != (d, base)):
                raise ScheduleError(f"compute_at: the reads of {buffer.name} are no single region of one dimension")
            least, greatest = (min(least, r[0]), max(greatest, r[1])) if place is not None else r
            place = (d, base)
    if place is None:
        raise ScheduleError(f"compute_at: the band does not move along {buffer.name}")
    dimension, base = place
    return dimension, (base + Affine((), least)).to_expr(), greatest - least + 1


def _parts(form: Affine, moved: set[Var]) -> tuple[Affine, Affine]:
    """The part of an index that is constant in a band, and the part of constants and of loops in `moved`."""
    inside = tuple((a, c) for a, c in form.terms if free_vars(a) & moved)
    rest = tuple((a, c) for a, c in form.terms if not free_vars(a) & moved)
    return Affine(rest, 0), Affine(inside, form.constant)


def _in_scratch(stmt: Stmt, scratch: Mapping[Buffer, Buffer], regions: Regions) -> Stmt:
    """Accesses of the buffers go to their scratch memory."""

    def place(b: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        dimension, low = regions[b]
        return tuple(i - low if d == dimension else i for d, i in enumerate(indices))

    def rule(n: Node) -> Node | None:
        match n:
            case Load(buffer, indices, guard) if buffer in regions:
                return Load(scratch[buffer], place(buffer, indices), guard)
            case Store(buffer, indices, value) if buffer in regions:
                return Store(scratch[buffer], place(buffer, indices), value)
        return None

    return rewrite(stmt, rule)
