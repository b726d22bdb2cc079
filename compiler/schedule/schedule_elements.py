"""The simplest schedule for compute shaders, which takes the place of a kernel's own one on a device that computes that
wrongly: no tiles, vectors, unrolled loops, workgroups' memory or subgroups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..choices import DEFAULT
from ..ir.forms import Contraction, forms_of
from ..ir.layout import Layout
from ..ir.nest import Pointwise, match_nest
from ..ir.nodes import Buffer, Kernel
from ..ir.simplify import simplify_stmt
from ..target import GpuTarget
from .expand_entries import expand_entries
from .rules.long_sums import block_products, block_sums
from .rules.simt_pointwise import WORKGROUP, spread_flat
from .rules.simt_words import simt_words
from .sign_quads import sign_quads
from .steps import pack


def schedule_elements(
    kernel: Kernel, target: GpuTarget, layouts: Mapping[Buffer, Layout], *, words: bool = False
) -> Kernel:
    """for i < 5: for j < 3: S(i, j)   ->   for b < 1 block: for t < 64 thread: if 64*b + t < 15: S(.. // 3, .. % 3)

    An invocation computes one element of a naive nest, or with `words` the elements of one word. Constants are read in
    these `layouts`. A kernel that is no nest, or one without loops, runs in a single invocation.
    """
    stmt, packed = simplify_stmt(expand_entries(kernel.body)), dict[Buffer, Buffer]()
    for constant, layout in layouts.items():
        stmt, packed[constant] = pack(stmt, constant, layout)
    match nest := match_nest(stmt):
        case None:
            pass
        case Pointwise() if words and nest.loops:
            stmt, flat = simt_words(nest, target, DEFAULT)
            packed |= flat
        case _ if nest.loops:
            form = forms_of(kernel).get(nest.store.buffer)
            stmt = spread_flat(stmt, len(nest.loops), WORKGROUP)
            stmt = block_products(stmt) if isinstance(form, Contraction) else block_sums(stmt)
    stmt = simplify_stmt(sign_quads(stmt) if target.signed_quads else stmt)
    return replace(kernel, params=tuple(packed.get(p, p) for p in kernel.params), body=stmt, forms=())
