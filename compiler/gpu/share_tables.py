"""A table that a kernel looks up few elements of is in memory once, in the order of its other reader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..ir.layout import Layout
from ..ir.nodes import Buffer, Expr, Kernel, Load, Node
from ..ir.rewrite import rewrite
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import Placements
from ..program.device_program import Placement
from ..tensor import Tensor
from ..tensor.fuse.dataflow import looks_up
from .compile_kernels import CompiledGroups

NaiveKernels = Mapping[int, tuple[Kernel, Placements]]
"""By number of the group."""


def share_tables(model: Lowered, naive: NaiveKernels, compiled: CompiledGroups) -> NaiveKernels:
    """y[i] = table[index[i]]   ->   y[i] = table'[index[i] // 128, index[i] % 128]

    where another kernel, as `compiled`, reads the constant in that layout: as a product does the matrix that is the
    model's embedding, too. The same kernels where there is no such table.
    """
    orders: dict[Tensor, tuple[Layout, Placement | None]] = {}
    for i, number in compiled.numbers.items():
        reader = compiled.kernels[number]
        for t, b, place in zip(model.groups[i].reads, reader.params, reader.placements, strict=False):
            if t.is_constant and b.layout is not None and not looks_up(model.groups[i].output, t):
                orders.setdefault(t, (b.layout, place))
    shared = dict(naive)
    for i, (kernel, places) in naive.items():
        group = model.groups[i]
        for at, t in enumerate(group.reads):
            if t not in orders or group.reduce is not None or not looks_up(group.output, t):
                continue
            layout, place = orders[t]
            if (layout, place) == (kernel.params[at].layout, places[at]):
                continue
            kernel = in_layout(kernel, kernel.params[at], layout)
            places = tuple(place if j == at else p for j, p in enumerate(places))
            shared[i] = kernel, places
    return naive if shared == naive else shared


def in_layout(kernel: Kernel, table: Buffer, layout: Layout) -> Kernel:
    """The kernel, which reads its constant parameter `table` in another layout."""
    old = table.layout
    assert old is not None
    ordered = layout.buffer(table.name, table.dtype, constant=True, values=table.values)

    def rule(n: Node) -> Expr | None:
        match n:
            case Load(b, indices, guard) if b is table:
                return Load(ordered, layout.index(old.logical(indices)), guard)
        return None

    params = tuple(ordered if b is table else b for b in kernel.params)
    return replace(kernel, params=params, body=rewrite(kernel.body, rule))
