"""Winograd's transforms and products in one kernel, band by band, so that what lies between stays in the cache.

    windows, products and result of the whole image, a kernel each   ->   for each band: windows; products; result

Windows and products of one band are the kernel's own memory, `scratch`, which every band uses again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..choices import DEFAULT, Choices, Scope, ordered
from ..costs import CpuCosts
from ..ir.layout import Layout
from ..ir.nodes import Buffer, Const, Expr, For, Kernel, Load, Node, Seq, Stmt, Store, Var
from ..ir.rewrite import free_vars, loads, rewrite, substitute, walk
from ..ir.simplify import simplify
from .fuse import Group
from .spread_planes import spread_planes
from .tensor import Tensor
from .use_winograd import Rewritten

TILE_ROW = 3
"""The dimension of windows and products that counts rows of tiles: [i, j, n, row, column, channel]."""

WINDOW_RANK = 6

Chain = tuple[Group, Group, Group]
Kernels = tuple[tuple[Group, ...], tuple[Kernel, ...], dict[Tensor, Layout]]


def join_bands(
    layers: tuple[Rewritten, ...],
    groups: tuple[Group, ...],
    kernels: tuple[Kernel, ...],
    layouts: Mapping[Tensor, Layout],
    costs: CpuCosts,
    choices: Choices = DEFAULT,
) -> Kernels:
    """Groups, their kernels and the layouts, with the three kernels of each layer joined where that pays."""
    placed = dict(layouts)
    of = dict(zip(groups, kernels, strict=True))
    for layer in layers:
        windows, filters, products, result = layer.tensors
        first = next(g for g in of if g.output is windows)
        second = next(g for g in of if g.output is products)
        last = next(g for g in of if g.anchor is result.buffer)
        options = _rows(windows, filters, products, costs)
        rows = Scope(choices, result.name).choose("band", options)
        if rows < windows.shape[TILE_ROW]:
            chain = (first, second, last)
            group, kernel, scratch = _join(chain, [of[g] for g in chain], layer.tile[0], rows, costs)
            placed.update(scratch)
            of = {group if g is last else g: kernel if g is last else k for g, k in of.items()}
            del of[first], of[second]
    return tuple(of), tuple(of.values()), placed


def _rows(windows: Tensor, filters: Tensor, products: Tensor, costs: CpuCosts) -> list[int]:
    """Rows of tiles in a band, the preferred number first: all of them where they are small enough together; else bands
    of about equal size."""
    rows, columns = windows.shape[TILE_ROW : TILE_ROW + 2]
    tiles = windows.shape[2] * columns
    row = (_bytes(windows) + _bytes(products)) // rows
    kept = _bytes(filters) <= costs.kept_filters
    size = costs.band if kept else min(2 * _bytes(filters), costs.largest_band)
    most = max(size // row, -(-costs.fewest_tiles // tiles), 1)
    preferred = -(-rows // -(-rows // most))
    return ordered(preferred, [rows, *(1 << n for n in range(rows.bit_length()) if 1 << n < rows)])


def _bytes(t: Tensor) -> int:
    return t.buffer.size * t.dtype.bytes


@dataclass(frozen=True, slots=True)
class _Band:
    """`count` rows of tiles from `start` on, and the `lines` of the result that they give."""

    start: Expr
    count: int
    lines: int


def _join(
    groups: Chain, kernels: Sequence[Kernel], m: int, rows: int, costs: CpuCosts
) -> tuple[Group, Kernel, dict[Tensor, Layout]]:
    windows, products, result = groups
    layouts: dict[Tensor, Layout] = {}
    scratch: dict[Tensor, Tensor] = {}
    for t in (windows.output, products.output):
        part = Tensor(Buffer(t.name, (*t.shape[:TILE_ROW], rows, *t.shape[TILE_ROW + 1 :]), t.dtype))
        scratch[t] = part
        layouts[part] = (
            spread_planes(part.shape, t.dtype, costs) if t is windows.output else Layout.row_major(part.shape)
        )
    own = {t: layouts[part].buffer(t.name, t.dtype) for t, part in scratch.items()}
    reads: dict[Tensor, Buffer] = {}
    new: dict[Buffer, Buffer] = {}
    for g, k in zip(groups, kernels, strict=True):
        for t, p in zip((*g.reads, g.output), k.params, strict=True):
            new[p] = own[t] if t in own else p if t is result.output else reads.setdefault(t, p)
    *borders, _ = kernels[2].body.stmts if isinstance(kernels[2].body, Seq) else (kernels[2].body,)
    body: list[Stmt] = list(borders)
    for band in _bands(result.output.shape[2], m, rows):
        steps = [_narrow(k, products.output.buffer if k is kernels[2] else None, band, m) for k in kernels]
        moved = Seq(tuple(_move(s, new, set(own.values()), band.start) for s in steps))
        loop = next((v for v in free_vars(band.start)), None)
        body.append(moved if loop is None else For(loop, moved, parallel=False))
    output = kernels[2].params[-1]
    params = (*reads.values(), *own.values(), output)
    kernel = Kernel(kernels[2].name, params, Seq(tuple(body)), result.origin, outputs=1 + len(own))
    return replace(result, reads=tuple(reads), scratch=tuple(scratch.values())), simplify(kernel), layouts


def _bands(height: int, m: int, rows: int) -> list[_Band]:
    """All whole bands, by a loop variable, and the rest of `height` lines."""
    whole, rest = divmod(height, rows * m)
    found = [_Band(Var("band", whole) * rows, rows, rows * m)] if whole else []
    return [*found, _Band(Const(whole * rows), -(-rest // m), rest)] if rest else found


def _narrow(kernel: Kernel, products: Buffer | None, band: _Band, m: int) -> Stmt:
    """The nest of a kernel for one band alone: its loop over rows of tiles, or over lines where it reads `products`."""
    nest = kernel.body.stmts[-1] if isinstance(kernel.body, Seq) else kernel.body
    if products is None:
        row = next(n for n in walk(nest) if isinstance(n, Store) and n.buffer is kernel.params[-1]).indices[TILE_ROW]
        size, start = band.count, band.start
    else:
        row = next(x for x in loads(nest) if len(x.indices) == WINDOW_RANK).indices[TILE_ROW]
        size, start = band.lines, band.start * m
    (over,) = free_vars(row)
    inner = Var(over.name, size)

    def rule(n: Node) -> Node | None:
        if isinstance(n, For) and n.var is over:
            return For(inner, substitute(n.body, {over: start + inner}), n.kind, n.parallel)
        return None

    return rewrite(nest, rule)


def _move(stmt: Stmt, new: Mapping[Buffer, Buffer], scratch: set[Buffer], start: Expr) -> Stmt:
    """Accesses of the buffers that take the place of others; in scratch memory, rows of tiles count from `start`."""

    def place(b: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        if b not in scratch:
            return indices
        return (*indices[:TILE_ROW], indices[TILE_ROW] - start, *indices[TILE_ROW + 1 :])

    def rule(n: Node) -> Node | None:
        match n:
            case Load(buffer, indices, guard) if buffer in new:
                return Load(new[buffer], place(new[buffer], indices), guard)
            case Store(buffer, indices, value) if buffer in new:
                return Store(new[buffer], place(new[buffer], indices), value)
        return None

    return rewrite(stmt, rule)
