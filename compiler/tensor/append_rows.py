"""State that grows: a run stores its new rows behind those that are there, and nothing is copied."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..ir.nodes import Expr, Load, Var
from ..ir.rewrite import loads, substitute
from ..ir.simplify import simplify_expr
from ..ir.sizes import Size, capacity, equal, number, size
from .build_kernel import Destination
from .fuse import Group
from .tensor import Tensor


@dataclass(frozen=True, slots=True)
class Appended:
    """A group of new rows alone, and where they are stored: `destination` is the state's memory."""

    group: Group
    destination: Destination


def append_rows(g: Group, before: Tensor) -> Appended | None:
    """after[.., l, ..] = before[.., l, ..] if l < P else new[.., l - P, ..]    for l < P + S
    ->  before[.., P + s, ..] = new[.., s, ..]    for s < S

    where P is the length of `before`, and both have one memory. None for groups that do something else.
    """
    after = g.output
    if g.reduce is not None or g.scratch or before not in g.reads or before.rank != after.rank:
        return None
    grown = [d for d, (a, b) in enumerate(zip(before.shape, after.shape, strict=True)) if not equal(a, b)]
    if len(grown) != 1:
        return None
    (axis,) = grown
    first = before.shape[axis]
    if not _keeps(g, before, axis, first):
        return None
    count = size(number(after.shape[axis]) - first)
    row = Var(f"{g.axes[axis].name}.new", capacity(count), None if isinstance(count, int) else count)
    body = simplify_expr(substitute(g.body, {g.axes[axis]: number(first) + row}))
    read = {x.buffer for x in loads(body)}
    if before.buffer in read:
        return None
    axes = tuple(row if d == axis else v for d, v in enumerate(g.axes))
    group = replace(g, axes=axes, body=body, reads=tuple(t for t in g.reads if t.buffer in read))
    return Appended(group, Destination(before, first=(axis, number(first))))


def _keeps(g: Group, before: Tensor, axis: int, length: Size) -> bool:
    """Whether each element that is there stays as it is."""
    there = Var(f"{g.axes[axis].name}.old", capacity(length), None if isinstance(length, int) else length)
    at: dict[Var, Expr] = {g.axes[axis]: there}
    body = simplify_expr(substitute(g.body, at))
    place = tuple(simplify_expr(substitute(v, at)) for v in g.axes)
    return isinstance(body, Load) and body.buffer is before.buffer and body.guard is None and body.indices == place


def is_kept(g: Group, before: Tensor) -> bool:
    """Whether the group copies `before` as it is."""
    body = g.body
    return isinstance(body, Load) and body.buffer is before.buffer and body.guard is None and body.indices == g.axes
