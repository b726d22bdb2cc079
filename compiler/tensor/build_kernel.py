"""From a group to a kernel of naive loops over its output in memory order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.affine import affine
from ..ir.bounds import unproved_index
from ..ir.facts import range_of
from ..ir.forms import Form, Map, form_of
from ..ir.layout import Layout
from ..ir.nodes import Alloc, Binary, Buffer, Const, Expr, For, Kernel, Load, Scope, Seq, Stmt, Store, Var, expr
from ..ir.reduction import COMBINE, Reduce
from ..ir.rewrite import free_vars, loads, rewrite, rewrite_top_down, substitute
from ..ir.simplify import simplify_expr, simplify_stmt
from ..ir.sizes import Size, scalars_of
from .choose_layout import CHANNEL_ALIGN, guard_is_bounds, reach_of, sizes_of
from .fuse import Group
from .tensor import Tensor


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a result is stored: in another tensor's memory, in row `index` of it if one is given, or along an axis from
    an index on: `first`."""

    memory: Tensor
    index: Expr | None = None
    first: tuple[int, Expr] | None = None


def build_kernel(
    name: str,
    group: Group,
    layouts: Mapping[Tensor, Layout],
    *,
    fill_halo: bool = True,
    destination: Destination | None = None,
) -> Kernel:
    """Parameters: the group's operands, in order, then its output. Loops follow the output's layout, outermost first,
    reduction loops inside them around an accumulator. The halo of the output, if any, is filled with zeros if
    `fill_halo`, and so is the rest of the last blocks of one that is prepared. The output may have a `destination`, in
    a layout without halo."""
    layout = layouts[group.output]
    partly = destination is not None and (destination.index is not None or destination.first is not None)
    loops = _axes(group, layout, rounded=not partly)
    reads, values = _place_reads(group, layouts, loops, fill_halo)
    if not _in_range(group, loops, values):
        loops = _axes(group, layout, rounded=False)
        reads, values = _place_reads(group, layouts, loops, fill_halo)
    body, reduction = values
    out = layout.buffer(group.output.name, group.output.dtype)
    place: list[Expr] = [loops[a] for a in range(len(loops))]
    if destination is not None and destination.first is not None:
        axis, first = destination.first
        place[axis] = first + place[axis]
    target = layout.index(place)
    row = None if destination is None else destination.index
    if destination is not None and row is not None:
        out = layouts[destination.memory].buffer(group.output.name, group.output.dtype)
        target = (row, *target)
    store: Stmt = Store(out, target, body)
    if reduction is not None:
        store = _reduction_loops(group, body, reduction, out, target)
    for axis in reversed(layout.order):
        store = For(loops[axis], store)
    sizes = [v.extent if v.length is None else v.length for v in group.axes]
    fills = _fill_halo(out, layout, sizes_of(sizes, layout.shape)) if fill_halo else []
    fills += _fill_blocks(out, layout) if fill_halo and group.output.prepared else []
    nest = simplify_stmt(Seq((*fills, store)))
    form = _form(loops, group.reduce, reduction)
    return Kernel(name, (*reads, out), nest, group.origin, scalars=scalars_of(nest), row=partly, forms=(form,))


def _form(loops: Mapping[int, Var], reduce: Reduce | None, value: Expr | None) -> Form:
    """The form of a result; `value` is what it reduces, over buffers and the loop variables."""
    if reduce is None or value is None:
        return Map()
    variables = (*loops.values(), *reduce.axes)
    gone: dict[Var, Expr] = {v: Const(0) for v in variables if v.extent == 1 and v.length is None}
    left = [v for v in loops.values() if v not in gone]
    over = [v for v in reduce.axes if v not in gone]
    return form_of(COMBINE[reduce.op], left, over, simplify_expr(substitute(value, gone)), reduce.init)


def _axes(group: Group, layout: Layout, *, rounded: bool) -> dict[int, Var]:
    """A loop variable per logical axis; with `rounded`, over the rounded-up extent (the padding is never used), if
    that saves a partial vector; whole vectors may be padded, too. The rest of a prepared constant's block is zero."""
    zero = {b.axis for b in layout.blocks} if group.output.prepared else set()
    variables = {}
    for d, v in enumerate(group.axes):
        extent = v.extent
        padded = rounded and v.length is None and d not in zero
        if padded and layout.align[d] > 1 and extent % CHANNEL_ALIGN:
            extent = layout.extent(d) - sum(layout.pad[d])
        variables[d] = Var(v.name, extent, v.length)
    return variables


def _place_reads(
    group: Group, layouts: Mapping[Tensor, Layout], loops: Mapping[int, Var], filled: bool
) -> tuple[list[Buffer], tuple[Expr, Expr | None]]:
    """The buffers read, in their layouts, and the group's expressions over them and the new loop variables; `filled`:
    each kernel fills halos, hence around the sizes of the run."""
    env: dict[Var, Expr] = {v: loops[d] for d, v in enumerate(group.axes)}
    body = substitute(group.body, env)
    reduction = None if group.reduce is None else substitute(group.reduce.value, env)
    here = layouts[group.output]
    last = here.blocks[-1].axis if here.blocks else here.order[-1] if here.order else None
    placed: dict[Buffer, Layout] = {}
    buffers: dict[Buffer, Buffer] = {}
    shapes: dict[Buffer, tuple[Size, ...]] = {}
    for t in group.reads:
        shapes[t.buffer] = sizes_of(t.shape, t.extents) if filled else t.extents
        if not t.is_constant:
            placed[t.buffer] = layouts[t]
        else:
            wide = loops[last] if last is not None else None
            placed[t.buffer] = _constant_layout(t, wide, [e for e in (body, reduction) if e is not None])
        buffers[t.buffer] = placed[t.buffer].buffer(t.name, t.dtype, constant=t.is_constant, values=t.buffer.values)

    def rule(n: object) -> Expr | None:
        if isinstance(n, Load) and n.buffer in placed:
            layout = placed[n.buffer]
            guard = n.guard
            shape = shapes[n.buffer]
            if guard is not None and guard_is_bounds(n, shape) and _halo_covers(n, layout, shape):
                guard = None
            return Load(buffers[n.buffer], layout.index(n.indices), guard)
        return None

    values = rewrite(body, rule), None if reduction is None else rewrite(reduction, rule)
    return [buffers[t.buffer] for t in group.reads], values


def _constant_layout(t: Tensor, wide: Var | None, values: list[Expr]) -> Layout:
    """Row-major, with the dimension indexed by the innermost loop last and as long as that loop."""
    layout = Layout.row_major(t.extents)
    if wide is None:
        return layout
    for e in values:
        for x in loads(e):
            if x.buffer is t.buffer:
                for d, i in enumerate(x.indices):
                    if affine(i) == affine(wide) and t.extents[d] > 1:
                        order = (*(k for k in range(t.rank) if k != d), d)
                        align = tuple(wide.extent if k == d else 1 for k in range(t.rank))
                        return Layout(t.extents, order, layout.pad, align)
    return layout


def _halo_covers(x: Load, layout: Layout, shape: tuple[Size, ...]) -> bool:
    """Whether the halo around an image of `shape` has every element that is read outside."""
    for (low, high), i, n in zip(layout.pad, x.indices, shape, strict=True):
        reach = reach_of(i, n)
        if reach is None or reach[0] > low or reach[1] > high:
            return False
    return True


def _in_range(group: Group, loops: Mapping[int, Var], values: tuple[Expr, Expr | None]) -> bool:
    """Whether loops over rounded-up extents are proved to stay in bounds of every buffer, and no guard is needed for
    padding alone."""
    rounded = {loops[d] for d, a in enumerate(group.axes) if loops[d].extent != a.extent}
    if not rounded:
        return True
    for x in (x for e in values if e is not None for x in loads(e) if x.buffer is not group.anchor):
        grown = (d for d, i in enumerate(x.indices) if free_vars(i) & rounded)
        if unproved_index(x) is not None or any(_needs_guard(x, d) for d in grown):
            return False
    return True


def _needs_guard(x: Load, dimension: int) -> bool:
    """Whether the interval of an index leaves the buffer where the guard is not looked at."""
    r = range_of(x.indices[dimension])
    return r is not None and (r[0] < 0 or r[1] >= x.buffer.shape[dimension])


def _reduction_loops(group: Group, body: Expr, value: Expr, out: Buffer, target: tuple[Expr, ...]) -> Stmt:
    assert group.reduce is not None
    acc = Buffer("acc", (), group.reduce.dtype, Scope.LOCAL)
    update: Stmt = Store(acc, (), Binary(COMBINE[group.reduce.op], Load(acc, ()), value))
    for axis in reversed(group.reduce.axes):
        update = For(axis, update, parallel=False)

    def rule(n: object) -> Expr | None:
        return Load(acc, ()) if isinstance(n, Load) and n.buffer is group.anchor else None

    result = rewrite_top_down(body, rule)
    return Alloc(acc, Seq((Store(acc, (), group.reduce.init), update, Store(out, target, result))))


def _fill_blocks(out: Buffer, layout: Layout) -> list[Stmt]:
    """Zeros in the rest of the last block of each axis: sums over pairs of elements read it."""
    fills: list[Stmt] = []
    for block in layout.blocks:
        inside = layout.shape[block.axis]
        rest = -inside % block.size
        if not rest:
            continue
        variables = [Var(f"b{a}", rest if a == block.axis else layout.extent(a)) for a in range(len(layout.shape))]
        logical = [v + inside if a == block.axis else v for a, v in enumerate(variables)]
        stmt: Stmt = Store(out, layout.index(logical), Const(0.0 if out.dtype.is_float else 0, out.dtype))
        for axis in reversed(layout.order):
            stmt = For(variables[axis], stmt)
        fills.append(stmt)
    return fills


def _fill_halo(out: Buffer, layout: Layout, shape: tuple[Size, ...]) -> list[Stmt]:
    """Zeros around the interior, of `shape`: for each padded dimension, outermost first, the slabs before and after."""
    fills: list[Stmt] = []
    zero = Const(0.0 if out.dtype.is_float else 0, out.dtype)
    for position, axis in enumerate(layout.order):
        lo, hi = layout.pad[axis]
        for start, count in ((Const(0), lo), (expr(shape[axis]) + lo, hi)):
            if not count:
                continue
            vars_: list[Var] = []
            indices: list[Expr] = []
            for p, a in enumerate(layout.order):
                inner_lo = layout.pad[a][0]
                if p < position:
                    v = Var(f"b{a}", layout.shape[a], _length(shape[a]))
                    indices.append(v + inner_lo if inner_lo else v)
                elif p == position:
                    v = Var(f"b{a}", count)
                    indices.append(simplify_expr(v + start))
                else:
                    whole = layout.align[a] == 1 and not layout.block_size(a) > 1
                    size = shape[a] + sum(layout.pad[a]) if whole else layout.extent(a)
                    v = Var(f"b{a}", layout.extent(a), _length(size))
                    indices.append(v)
                vars_.append(v)
            stmt: Stmt = Store(out, tuple(indices), zero)
            for v in reversed(vars_):
                stmt = For(v, stmt)
            fills.append(stmt)
    return fills


def _length(size: Size) -> Expr | None:
    return None if isinstance(size, int) else size
