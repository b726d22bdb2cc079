"""From the decisions of fusion to groups, one per kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...ir.nodes import Buffer, Expr, Load, Origin, Var
from ...ir.reduction import Reduce
from ...ir.rewrite import loads, substitute
from ...ir.simplify import simplify_expr
from ..tensor import Tensor, compute
from .dataflow import Dataflow
from .find_epilogues import Epilogue
from .inline_maps import Expanded, Maps, expand


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """One future kernel: `output` = `body` over `axes`, where loads of `anchor` mean the reduction `reduce`.

    `reads` are the tensors it loads (materialised ones and constants). `anchor` is None for a map.
    `scratch` is temporary memory of the kernel, dead before and after it.
    """

    output: Tensor
    axes: tuple[Var, ...]
    body: Expr
    anchor: Buffer | None
    reduce: Reduce | None
    reads: tuple[Tensor, ...]
    origin: Origin
    scratch: tuple[Tensor, ...] = ()


def copy_of(name: str, t: Tensor, origin: Origin) -> Group:
    """The group of a copy of `t`, for another layout or another place."""
    copied = compute(name, t.shape, (t,), lambda *i: t.read(i))
    assert copied.body is not None
    return Group(copied, copied.axes, copied.body, None, None, (t,), origin)


def build_groups(flow: Dataflow, epilogues: Mapping[Tensor, Epilogue], maps: Maps) -> tuple[Group, ...]:
    """A group for each tensor that is a kernel's result, in the order of the program."""
    groups = []
    for t in flow.program.tensors:
        epilogue = epilogues.get(t)
        if t in maps.kept or (epilogue is not None and epilogue.output is t):
            groups.append(_group(flow, t, None if epilogue is None else epilogue.anchor, maps))
    return tuple(groups)


def _group(flow: Dataflow, output: Tensor, anchor: Tensor | None, maps: Maps) -> Group:
    """The group of `output`, which is the reduction `anchor`, or follows from it."""
    if output is anchor:
        result = Expanded(output.axes, Load(output.buffer, output.axes), frozenset())
    else:
        result = maps.kept[output]
    computes, reduction = result.computes, None
    if anchor is not None:
        reduction, inlined = _reduction(anchor, output.axes[output.rank - anchor.rank :], maps)
        computes |= inlined | {anchor}
    used = {x.buffer for e in (result.body, reduction) if e is not None for x in loads(e)}
    origin = Origin()
    for t in sorted(computes, key=flow.order.__getitem__):
        origin = origin + flow.program.origins[t]
    buffer = None if anchor is None else anchor.buffer
    return Group(output, output.axes, result.body, buffer, reduction, _materialised(output, used, anchor), origin)


def _reduction(anchor: Tensor, axes: tuple[Var, ...], maps: Maps) -> tuple[Reduce, frozenset[Tensor]]:
    """The reduction at element `axes`, and the tensors that are computed inside it."""
    assert isinstance(anchor.body, Reduce)
    value = substitute(anchor.body.value, dict(zip(anchor.axes, axes, strict=True)))
    value, computes = expand(value, maps.inlined)
    return Reduce(anchor.body.op, anchor.body.axes, simplify_expr(value), anchor.body.init), computes


def _materialised(output: Tensor, used: set[Buffer], anchor: Tensor | None) -> tuple[Tensor, ...]:
    """The tensors whose buffers are `used` by the kernel of `output`, in the order of a traversal of its inputs."""
    stored: dict[Tensor, None] = {}
    seen: set[Tensor] = set()
    # In depth first, without recursion: tensors that only move elements are computed in one kernel however many.
    open_ = [iter(output.reads)]
    while open_:
        r = next(open_[-1], None)
        if r is None:
            open_.pop()
        elif r.buffer in used and r is not anchor:
            stored[r] = None
        elif r not in seen:
            seen.add(r)
            open_.append(iter(r.reads))
    # A buffer may be reached both through an inlined tensor and directly: search beyond the tensors found, too.
    missing = used - {t.buffer for t in stored} - ({anchor.buffer} if anchor else set())
    stack, passed = list(stored), set(stored)
    while missing and stack:
        t = stack.pop()
        for r in t.reads:
            if r.buffer in missing:
                stored[r] = None
                missing.discard(r.buffer)
            if r not in passed:
                passed.add(r)
                stack.append(r)
    return tuple(stored)
