"""rfactor: a reduction over contiguous elements keeps one partial result per lane."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from ...ir.nodes import Alloc, Binary, Buffer, Const, Expr, For, Load, LoopKind, Seq, Stmt, Store, Var
from ...ir.rewrite import rewrite, rewrite_top_down, substitute
from .loops import find_loop, illegal
from .split import NARROWEST_VECTOR, DynamicSegment, tiles_of


def rfactor(stmt: Stmt, var: Var, lanes: int, neutral: Const, vectors: int = 1) -> Stmt:
    """local acc; acc = init; for k < 10 reduce: acc = acc + x[k]; ...
    ->  local acc; acc = init; local part[4]; part[:] = 0; for ko < 2 reduce: part[:] = part[:] + x[4*ko:4*ko+4];
        acc = acc + ((part[0] + part[2]) + (part[1] + part[3])); for k < 2 reduce: acc = acc + x[8 + k]; ...

    `var` must be the innermost reduction loop around one update of the accumulator, or of a tile of accumulators, in
    parallel loops. Sums are reassociated. Several `vectors` of partial results depend on no other one's update.
    """

    find_loop(stmt, var)

    def rule(n: object) -> Stmt | None:
        if isinstance(n, For) and not n.parallel and _holds(n, var):
            return _factor(n, var, lanes, neutral, vectors)
        return None

    return rewrite_top_down(stmt, rule)


def _holds(loop: For, var: Var) -> bool:
    return loop.var is var or (isinstance(loop.body, For) and not loop.body.parallel and _holds(loop.body, var))


def _factor(nest: For, var: Var, lanes: int, neutral: Const, vectors: int) -> Stmt:
    chain: list[For] = []
    tile: list[For] = []
    inner: Stmt = nest
    while isinstance(inner, For):
        (tile if inner.parallel else chain).append(inner)
        inner = inner.body
    if chain[-1].var is not var or not isinstance(inner, Store) or not isinstance(inner.value, Binary):
        raise illegal("rfactor", nest, f"{var.name} is not the innermost loop around an update")
    update = inner
    combine = inner.value.op
    part = Buffer("part", (*update.buffer.shape, lanes * vectors), update.buffer.dtype, update.buffer.scope)
    vector, lane = Var("vector", vectors), Var("lane", lanes)

    def at(place: Expr) -> Load:
        return Load(part, (*update.indices, place))

    def within(loops: Sequence[For], body: Stmt) -> Stmt:
        for loop in reversed(loops):
            body = replace(loop, body=body)
        return body

    def each(value: Callable[[Expr], Expr], vectors: int) -> Stmt:
        """The partial results in so many vectors become a value for each place."""
        place: Expr = lane if vectors == 1 else vector * lanes + lane
        lanes_of_one = For(lane, Store(part, at(place).indices, value(place)), LoopKind.VECTOR)
        return within(tile, lanes_of_one if vectors == 1 else For(vector, lanes_of_one, LoopKind.UNROLL))

    def updated(first: Expr, place: Expr) -> Expr:
        def kept(n: object) -> Load | None:
            return at(place) if isinstance(n, Load) and n.buffer is update.buffer else None

        return substitute(rewrite(update.value, kept), {var: first + place})

    steps, rest = [each(lambda _: neutral, vectors)], []
    for outer, start, size in _pieces(var, (lanes * vectors, lanes, 1)):
        if size == 1:
            last = within(tile, substitute(update, {var: start + outer}))
            rest.append(within(chain[:-1], For(outer, last, parallel=False)))
        else:
            first = start + outer * size
            step = each(partial(updated, first), size // lanes)
            steps.append(within(chain[:-1], For(outer, step, parallel=False)))
    steps.append(within(tile, _collect(update, combine, at, lanes, vectors)))
    return Seq((Alloc(part, Seq(tuple(steps))), *rest))


def _collect(update: Store, combine: str, at: Callable[[Expr], Load], lanes: int, vectors: int) -> Stmt:
    """The partial results of an accumulator combined in pairs: vectors first, then their halves."""
    steps: list[Stmt] = []
    width = lanes * vectors

    def join(lanes: int, distance: int) -> Stmt:
        lane = Var("lane", lanes)
        part = at(lane)
        joined = Binary(combine, part, at(lane + distance))
        return For(lane, Store(part.buffer, part.indices, joined), LoopKind.VECTOR)

    if lanes > 1:
        steps += [join(lanes, lanes * v) for v in range(1, vectors)]
        width = lanes
        while width % 2 == 0 and width > NARROWEST_VECTOR:
            width //= 2
            steps.append(join(width, width))
    acc = Load(update.buffer, update.indices)
    steps.append(Store(update.buffer, update.indices, Binary(combine, acc, _in_pairs(combine, at, 0, width, 1))))
    return Seq(tuple(steps)) if len(steps) > 1 else steps[0]


def _in_pairs(combine: str, at: Callable[[Expr], Load], start: int, count: int, step: int) -> Expr:
    """part[start], part[start + step], ... `count` of them: those at even places, and those at odd ones."""
    if count == 1:
        return at(Const(start))
    even = _in_pairs(combine, at, start, count - count // 2, 2 * step)
    return Binary(combine, even, _in_pairs(combine, at, start + step, count // 2, 2 * step))


def _pieces(var: Var, sizes: tuple[int, ...]) -> Iterator[tuple[Var, Expr, int]]:
    """Loops that make up that over `var`: each over as many tiles of the next of `sizes` as there are, and where the
    first tile starts."""
    if var.length is not None:
        for part in tiles_of(var, sizes[0], sizes[1:]):
            assert isinstance(part, DynamicSegment)
            yield Var(_name(var, part.size), part.count, part.trips), part.start, part.size
        return
    start = 0
    for size in sizes:
        count = (var.extent - start) // size
        if count:
            yield Var(_name(var, size), count), Const(start), size
        start += count * size


def _name(var: Var, size: int) -> str:
    return f"{var.name}o" if size > 1 else var.name
