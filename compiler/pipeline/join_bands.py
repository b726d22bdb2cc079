"""Winograd's transforms and products in one kernel, band by band, so that the intermediates stay in the cache.

    windows, products and result of the whole image, a kernel each   ->   for each band: windows; products; result

Windows and products of one band are in `scratch`, memory of the kernel that every band reuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..choices import ordered
from ..costs import CpuCosts
from ..errors import ScheduleError
from ..ir.layout import Layout
from ..ir.nodes import Buffer, Const, For, Kernel, Seq, Stmt, Var
from ..ir.rewrite import replace_buffers
from ..ir.simplify import simplify
from ..schedule.steps import compute_at, reading_loop
from ..tensor import Tensor
from ..tensor.fuse import Group
from ..tensor.layer_choices import LayerChoices, default_layers
from ..tensor.pad_matrices import pad_matrices
from ..tensor.program import Rewritten

TILE_ROW = 3
"""The dimension of windows and products for rows of tiles: [i, j, n, row, column, channel]."""

Chain = tuple[Group, Group, Group]
Joined = tuple[Group, Kernel, dict[Tensor, Layout]]
Kernels = tuple[tuple[Group, ...], tuple[Kernel, ...], dict[Tensor, Layout]]


def join_bands(
    layers: tuple[Rewritten, ...],
    groups: tuple[Group, ...],
    kernels: tuple[Kernel, ...],
    layouts: Mapping[Tensor, Layout],
    costs: CpuCosts,
    choices: LayerChoices = default_layers,
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
        rows = choices(layer.convolution).choose("band", options)
        if rows < windows.extents[TILE_ROW]:
            chain = (first, second, last)
            try:
                group, kernel, scratch = _join(chain, [of[g] for g in chain], layer.tile[0], rows, costs)
            except ScheduleError:
                continue  # the result does not read a band by one loop, so the three kernels stay apart
            placed.update(scratch)
            of = {group if g is last else g: kernel if g is last else k for g, k in of.items()}
            del of[first], of[second]
    return tuple(of), tuple(of.values()), placed


def _rows(windows: Tensor, filters: Tensor, products: Tensor, costs: CpuCosts) -> list[int]:
    """Rows of tiles in a band, the preferred number first: all of them where they are small enough together; else bands
    of about equal size."""
    rows, columns = windows.extents[TILE_ROW : TILE_ROW + 2]
    tiles = windows.extents[2] * columns
    row = (_bytes(windows) + _bytes(products)) // rows
    kept = _bytes(filters) <= costs.kept_filters
    size = costs.band if kept else min(2 * _bytes(filters), costs.largest_band)
    most = max(size // row, -(-costs.fewest_tiles // tiles), 1)
    preferred = -(-rows // -(-rows // most))
    return ordered(preferred, [rows, *(1 << n for n in range(rows.bit_length()) if 1 << n < rows)])


def _bytes(t: Tensor) -> int:
    return t.buffer.size * t.dtype.bytes


def _join(chain: Chain, kernels: Sequence[Kernel], m: int, rows: int, costs: CpuCosts) -> Joined:
    windows, products, result = chain
    layouts: dict[Tensor, Layout] = {}
    scratch: dict[Tensor, Tensor] = {}
    for t in (windows.output, products.output):
        part = Tensor(Buffer(t.name, (*t.extents[:TILE_ROW], rows, *t.extents[TILE_ROW + 1 :]), t.dtype))
        plain = Layout.row_major(part.extents)
        scratch[t] = part
        layouts[part] = pad_matrices(part.extents, t.dtype, costs) if t is windows.output else plain
    own = {t: layouts[part].buffer(t.name, t.dtype) for t, part in scratch.items()}
    params: dict[Tensor, Buffer] = {}
    nests: list[Stmt] = []
    body: list[Stmt] = []
    for g, k in zip(chain, kernels, strict=True):
        merged = {p: params.setdefault(t, p) for t, p in zip((*g.reads, g.output), k.params, strict=True)}
        *halos, nest = k.body.stmts if isinstance(k.body, Seq) else (k.body,)
        nests.append(replace_buffers(nest, merged))
        body += halos
    line = reading_loop(nests[-1], params[products.output], TILE_ROW)
    memory = {params.pop(t): b for t, b in own.items()}
    output = params.pop(result.output)
    whole, rest = divmod(line.extent, rows * m)
    if whole:
        band = Var("band", whole)
        body.append(For(band, compute_at(nests, line, band * (rows * m), rows * m, memory), parallel=False))
    if rest:
        body.append(compute_at(nests, line, Const(whole * rows * m), rest, memory))
    buffers = (*params.values(), *own.values(), output)
    forms = tuple(form for k in kernels for form in k.forms)
    kernel = Kernel(kernels[-1].name, buffers, Seq(tuple(body)), result.origin, outputs=1 + len(own), forms=forms)
    return replace(result, reads=tuple(params), scratch=tuple(scratch.values())), simplify(kernel), layouts
